"""Did training collapse? A line per fit and class from the stored training curves, with the rule of the library.

The paper shows that both losses settle and concludes that there is no mode collapse. Losses alone do not show it: a
generator that proposes nothing, or the same graph whatever it draws, or everything at once, can have quiet losses too.
The rule by which a generator counts as collapsed is `rsgg.collapse`'s.
"""

from __future__ import annotations

import pandas as pd

from rsgg.collapse import JUDGED_SHARE, how

ROW = ["dataset", "method", "variant", "seed", "fold", "class"]
CURVES = ["discriminator_loss", "generator_loss", "flip_rate", "edits", "diversity", "score_spread"]


def judge(history: pd.DataFrame, edges: pd.Series) -> pd.DataFrame:
    """One line per fit and class: the curves' last values, averaged, and whether and how the generator collapsed.

    `edges` is the mean number of edges per data set. Curves without samples (the released code's) are not judged.
    """
    if "class" not in history or history["class"].isna().all():  # no method here has a generator per class
        return pd.DataFrame(columns=[*ROW, "epochs", *CURVES, "collapsed"])
    history = history.dropna(subset="class").astype({"class": int})
    length = history.groupby(ROW)["epoch"].transform("max") + 1
    tail = history[history["epoch"] >= (length * (1 - JUDGED_SHARE)).clip(upper=length - 1)]  # the last one at least
    lines = tail.groupby(ROW, sort=False)[[name for name in CURVES if name in tail]].mean().reset_index()
    lines.insert(len(ROW), "epochs", history.groupby(ROW, sort=False)["epoch"].max().to_numpy() + 1)
    lines["collapsed"] = [how(line, float(edges[line["dataset"]])) for line in lines.to_dict("records")]
    return lines
