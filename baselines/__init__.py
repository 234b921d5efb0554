"""The methods that RSGG-CE is compared with: one file per method, each readable on its own."""
