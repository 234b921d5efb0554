"""Searching for hyper-parameters with Optuna: what is searched, how a study is kept, what is written of it."""
