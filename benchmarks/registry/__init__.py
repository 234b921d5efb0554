"""The registry: the only lists of names. What every method, task, metric and ablation is called, everywhere.

Nothing in here imports torch or a model. Classes are named as strings ("module:Class") and imported when they are run,
so that tables and figures can ask what a row is called and how it is drawn without loading any method.
"""
