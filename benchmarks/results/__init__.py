"""Results on disk: what a cell is, where its ledger is stored, what a folder of results holds, and the paper's numbers.

Plain data: nothing in here imports torch or a model, so stored results can be read without the code that made them.
"""
