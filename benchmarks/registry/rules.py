"""The rules of the verdicts on printed numbers and of the marks in tables: all of them, and nothing else.

They lie here, below stored results, judgements and figures, because all three follow them. A rule is changed in a
commit of its own that gives the reason, before any table is rendered with it. The rules on kinds, on what can fail, on
runtimes and on marks were not written blindly: the committed results, and how many cells of each kind agree, were known
by then. No printed number counts as reproduced that did not before; withdrawing the verdicts on runtimes takes away
some agreements in order and some differences.

A printed number is compared with the 95 % prediction interval of the released row, which says where a further ten-fold
mean would fall (`rsgg.statistics.prediction_interval`):

- `reproduced`: the interval holds the printed value, give or take half a unit of its last digit.
- `order holds`: it does not, but with our value in its place the method keeps its rank among the printed methods.
- `differs`: neither.
- `not comparable`: a runtime, which is never judged.

What "reproduced" is worth depends on two things. `kind` says where the cell comes from (`KINDS`; each printed cell is
classified in results/paper/kinds.csv). `can_fail` says whether agreement could have failed: "no" if the interval also
holds the value that the paper prints for any rival, i.e. another method on the same data set and metric, with the same
rounding; "no" for the Correctness of a method that moves every graph one way, if the interval holds the share of a
class, since any such method would have agreed; "no" for what is not judged; else "yes". An *informative* agreement is a
cell that is independent, can fail, and is reproduced.
"""

from __future__ import annotations

# -- Intervals -------------------------------------------------------------------------------------------

LEVEL = 0.95  # of every interval
ROUNDING = 0.5  # units of the last printed digit that a printed value may be off
MIN_FOLDS = 5  # with fewer, there is no prediction interval, hence no verdict; others are bootstrapped over instances
MIN_REPLICATES = 3  # of ten folds each; with fewer, t quantiles are so large that the interval holds almost anything

# -- Verdicts --------------------------------------------------------------------------------------------

REPRODUCED, ORDER_HOLDS, DIFFERS = "reproduced", "order holds", "differs"
NOT_COMPARABLE = "not comparable"

COMPARED_VARIANTS = frozenset({"released", "faithful"})  # what the paper's rows are about; other variants are not in it
MACHINE_DEPENDENT = frozenset({"runtime"})
WHY_NOT_COMPARABLE = "another machine, another implementation and other work timed"

# -- What a verdict is worth -----------------------------------------------------------------------------

INDEPENDENT, DERIVED, ACCOUNTING, CONSTANT = "independent", "derived", "accounting", "constant"
KINDS = {
    INDEPENDENT: "measured, and not known from another printed cell",
    DERIVED: "follows from another printed cell",
    ACCOUNTING: "what is counted, or the law that is sampled, was inferred from the print",
    CONSTANT: "a constant of data and oracle, the same for every method",
}
CAN_FAIL, CANNOT_FAIL = "yes", "no"

ONE_WAY = 0.05
"""A method moves every graph one way if its Correctness is at most this on graphs of one predicted class and at least
one minus this on those of the other."""

# -- Marks -----------------------------------------------------------------------------------------------

CORRECTNESS_FLOOR = 0.9
"""Best and second best of anything but `MEASURES_OF_SUCCESS` are marked only among rows whose Correctness is at least
this: few edits, or a low cost, are no merit where nothing is explained."""

MEASURES_OF_SUCCESS = frozenset({"correctness", "fidelity"})
