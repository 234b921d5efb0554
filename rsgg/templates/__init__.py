"""Files to copy and fill in: an explainer, an oracle and a task of your own.

Each runs as it is: `python my_explainer.py` prints which promises it keeps, or says in one sentence what to mend.
"""
