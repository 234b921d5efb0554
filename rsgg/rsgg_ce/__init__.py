"""RSGG-CE, the paper's method, three times.

`LiteralRSGGCE` is Eq. 4 and Algorithms 1 and 2 to the letter, `RSGGCE` a training of the same idea that works, and
`ReleasedRSGGCE` what the published comparison ran.
"""

from rsgg.rsgg_ce.explainer import RSGGCE
from rsgg.rsgg_ce.literal import LiteralRSGGCE
from rsgg.rsgg_ce.released import ReleasedRSGGCE

__all__ = ["RSGGCE", "LiteralRSGGCE", "ReleasedRSGGCE"]
