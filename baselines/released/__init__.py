"""The baselines as the comparison behind Table 1 really ran them: what was computed, and why it was that."""
