"""What every explainer, oracle and task promises, as checks that anyone can run.

    from rsgg import check_explainer
    print("\\n".join(check_explainer(MyExplainer)))

`check_explainer`, `check_global_explainer`, `check_oracle` and `check_task` return one line for each promise that is
kept, and raise `ContractViolation` with a sentence at the first that is broken. `rsgg.templates` has a file to copy for
explainers, oracles and tasks.
"""

from rsgg.contract.checking import ContractViolation
from rsgg.contract.explainer import check_explainer
from rsgg.contract.global_explainer import check_global_explainer
from rsgg.contract.oracle import check_oracle
from rsgg.contract.task import check_task

__all__ = ["ContractViolation", "check_explainer", "check_global_explainer", "check_oracle", "check_task"]
