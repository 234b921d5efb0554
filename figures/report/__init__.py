"""The report: all stored results on one self-contained web page, with an explorer of single graphs.

`page` builds the page, `opening` what it begins with, `explorer` the data of the explorer; the folder `parts` has the
template, the style and the programs that run in the browser.
"""

from figures.report.page import build, run

__all__ = ["build", "run"]
