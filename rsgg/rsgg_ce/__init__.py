"""RSGG-CE, the paper's method: `RSGGCE` as it is written, `ReleasedRSGGCE` as the published comparison ran it."""

from rsgg.rsgg_ce.explainer import RSGGCE
from rsgg.rsgg_ce.released import ReleasedRSGGCE

__all__ = ["RSGGCE", "ReleasedRSGGCE"]
