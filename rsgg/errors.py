"""The errors of the project. Each message is a sentence that says what was wrong and what to do about it.

The command line prints the sentence and ends with exit code 2; Python users catch the class.
"""


class RSGGError(Exception):
    """Base of every error this project raises on purpose."""


class GraphError(RSGGError, ValueError):
    """A graph that is not square, symmetric, binary, loop-free, finite and non-empty."""


class DataError(RSGGError):
    """A data set that is missing, damaged or impossible to generate as asked."""


class OracleError(RSGGError):
    """An oracle that raised, did not answer with one class per graph, or was made of the wrong parts."""


class OracleTimeout(OracleError):
    """An oracle that did not answer in the time that it was given."""


class UnknownClass(OracleError):
    """An oracle that answered a class that it does not have."""


class BudgetExhausted(RSGGError):
    """An explainer asked the oracle more often than its budget allows, or after its time was used up."""


class NotFittedError(RSGGError):
    """`explain` was called before `fit`."""


class FitError(RSGGError):
    """The training graphs do not allow the explainer to be fitted."""


class UsageError(RSGGError):
    """A command, method, data set, fold or option that does not exist or makes no sense."""
