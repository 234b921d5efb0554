"""RSGG-CE, the paper's method, three times, and beyond the paper.

`LiteralRSGGCE` is Eq. 4 and Algorithms 1 and 2 to the letter, `RSGGCE` a training of the same idea that works, and
`ReleasedRSGGCE` what the published comparison ran. Beyond the paper, `RankedRSGGCE` tries edits in the order of the
scores that `RSGGCE` learns, and `TaughtRSGGCE` does so with scores that it learns from minimal counterfactuals.
"""

from rsgg.rsgg_ce.explainer import RSGGCE
from rsgg.rsgg_ce.literal import LiteralRSGGCE
from rsgg.rsgg_ce.ranked import RankedRSGGCE
from rsgg.rsgg_ce.released import ReleasedRSGGCE
from rsgg.rsgg_ce.taught import TaughtRSGGCE

__all__ = ["RSGGCE", "LiteralRSGGCE", "RankedRSGGCE", "ReleasedRSGGCE", "TaughtRSGGCE"]
