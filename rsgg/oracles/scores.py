"""What the output of a classifier means: found out at its first answer, checked at every one.

Classifiers return a row of logits per graph, or of log-probabilities or probabilities, one logit, one probability, the
class itself, or a tuple of which one part is that. `Scores` reads all of them.
"""

from __future__ import annotations

import reprlib
from typing import Any

import torch
from torch import Tensor

from rsgg.errors import OracleError

LOGITS, PROBABILITIES, CLASSES = "logits", "probabilities", "classes"
OUTPUTS = ("auto", LOGITS, PROBABILITIES)
TOLERANCE = 1e-3  # by which probabilities may miss their sum

# Operations that only change the shape of a tensor, as autograd calls them.
_RESHAPING = ("View", "Squeeze", "Unsqueeze", "Reshape", "UnsafeView", "Select", "Slice", "Alias", "T", "Clone", "Cat")


def most_likely(logits: Tensor, who: str) -> Tensor:
    """The class of the largest logit in each row, int64 [B]; an `OracleError` where a row has NaN or infinity."""
    if not logits.isfinite().all():
        bad = int((~logits.isfinite()).any(1).nonzero()[0])
        raise OracleError(f"The oracle {who!r} computed NaN or infinity for graph {bad}; look at its features.")
    return logits.argmax(1)


class Scores:
    """Reads the output of the classifier called `who` as classes or as class probabilities.

    `n_classes` is what the user said, or None until the first answer has shown it. `output` says whether numbers are
    logits (log-probabilities are a kind of them) or probabilities; "auto" finds out.
    """

    def __init__(self, who: str, n_classes: int | None = None, output: str = "auto") -> None:
        if n_classes is not None and (isinstance(n_classes, bool) or not isinstance(n_classes, int) or n_classes < 2):
            raise OracleError(
                f"{who} with n_classes={n_classes!r} cannot be explained; a classifier has two classes or more (one "
                "logit or probability per graph is of two classes), or leave n_classes out: the model is asked."
            )
        if output not in OUTPUTS:
            raise OracleError(f"{who} was given output={output!r}; give one of {', '.join(map(repr, OUTPUTS))}.")
        self.who, self.n_classes, self.kind = who, n_classes, None if output == "auto" else output

    def look(self, output: Any, count: int) -> None:
        """Learn from an answer about `count` graphs how many classes there are and what the numbers mean.

        Computed with gradients, one number per graph that comes out of a sigmoid is known to be a probability.
        """
        scores = self.rows(output, count)
        self.n_classes = self.n_classes or max(scores.shape[1], 2)
        if scores.shape[1] == 1 and not scores.is_floating_point():
            self.kind = CLASSES
        elif self.kind is None:
            self.kind = self._kind_of_one(scores) if scores.shape[1] == 1 else _kind_of_rows(scores)

    def classes(self, output: Any, count: int) -> Tensor:
        """The class of each of `count` graphs, int64 [count]."""
        scores = self._checked(output, count)
        if self.kind == CLASSES:
            return self._named_classes(scores[:, 0])
        if scores.shape[1] == 1:
            return (scores[:, 0] > (0.5 if self.kind == PROBABILITIES else 0)).long()
        return scores.argmax(1)

    def probabilities(self, output: Any, count: int) -> Tensor:
        """The probability of each class, [count, n_classes], differentiable in the output."""
        scores = self._checked(output, count)
        if self.kind == CLASSES:
            raise OracleError(f"{self.who} returns classes, which have no gradient; let it return logits.")
        if scores.shape[1] > 1:
            return scores if self.kind == PROBABILITIES else scores.softmax(1)
        p = scores if self.kind == PROBABILITIES else scores.sigmoid()
        return torch.cat((1 - p, p), 1)

    # -- reading ---------------------------------------------------------------------------------------

    def rows(self, output: Any, count: int) -> Tensor:
        """The numbers of each graph, [count, width]; of several outputs the first that has such a shape."""
        if isinstance(output, dict):
            output = tuple(output.values())
        parts = output if isinstance(output, tuple) else (output,)
        several = (_as_rows(part, count) for part in parts)
        found = next((rows for rows in several if rows is not None and self._fits(rows)), None)
        if found is None:
            classes = "one row" if self.n_classes is None else f"a row of {self.n_classes} numbers"
            raise OracleError(
                f"{self.who} must return {classes} for each of {count} graphs; it returned {_described(output)}. "
                f"{_advice(output)}"
            )
        if not found.isfinite().all():
            bad = int((~found.isfinite()).any(1).nonzero()[0])
            raise OracleError(f"{self.who} returned NaN or infinity for graph {bad} of {count}; look at its features.")
        return found

    def _fits(self, rows: Tensor) -> bool:
        width = rows.shape[1]
        if width == 1:
            return self.n_classes in (None, 2) or not rows.is_floating_point()
        return self.n_classes in (None, width)

    def _kind_of_one(self, scores: Tensor) -> str:
        last = _last_operation(scores)
        within = bool(((scores >= 0) & (scores <= 1)).all())
        if last.startswith("Sigmoid") and within:
            return PROBABILITIES
        if last or not within:
            return LOGITS
        raise OracleError(
            f"{self.who} returns one number between 0 and 1 per graph, which can be a logit or a probability; say "
            "which, with output='logits' or output='probabilities'."
        )

    def _checked(self, output: Any, count: int) -> Tensor:
        """The numbers, which still have to be what they were at the first answer."""
        if self.kind is None or self.n_classes is None:
            self.look(output, count)
        scores = self.rows(output, count)
        if self.kind == PROBABILITIES and not _are_probabilities(scores.detach()):
            raise OracleError(
                f"{self.who} returned numbers that are no probabilities, as those before seemed to be; make the oracle "
                "with output='logits'."
            )
        return scores

    def _named_classes(self, classes: Tensor) -> Tensor:
        assert self.n_classes is not None
        outside = classes[(classes < 0) | (classes >= self.n_classes)]
        if len(outside):
            raise OracleError(
                f"{self.who} answered class {int(outside[0])}, but has {self.n_classes} classes, numbered from 0; make "
                "the oracle with n_classes=…"
            )
        return classes.long()


def _as_rows(output: Any, count: int) -> Tensor | None:
    """An output as [count, width], or None where it has no row for each graph."""
    if not isinstance(output, Tensor) or output.is_complex():
        return None
    if output.dtype == torch.bool:
        output = output.long()
    if output.ndim == 0 or (output.ndim == 1 and count == 1):
        output = output.reshape(1, -1)
    if output.ndim == 1:
        output = output[:, None]
    return output if output.ndim == 2 and len(output) == count and output.shape[1] > 0 else None


def _advice(output: Any) -> str:
    if any(isinstance(part, Tensor) for part in (output if isinstance(output, tuple) else (output,))):
        return "Pool over the nodes of each graph; n_classes has to be as the model has them."
    return "Let it return logits or probabilities as a tensor, or classes as whole numbers from 0 on."


def _described(output: Any) -> str:
    if isinstance(output, tuple):
        return f"({', '.join(map(_described, output))})"
    if isinstance(output, list) and output:
        return f"a list such as [{reprlib.repr(output[0])}, …]"
    return f"shape {tuple(output.shape)}" if isinstance(output, Tensor) else f"a {type(output).__name__}"


def _are_probabilities(scores: Tensor) -> bool:
    within = bool((scores > -TOLERANCE).all()) and bool((scores < 1 + TOLERANCE).all())
    return within and (scores.shape[1] == 1 or bool(((scores.sum(1) - 1).abs() < TOLERANCE).all()))


def _kind_of_rows(scores: Tensor) -> str:
    return PROBABILITIES if scores.is_floating_point() and _are_probabilities(scores.detach()) else LOGITS


def _last_operation(scores: Tensor) -> str:
    """The operation that made a tensor, changes of shape left out; empty where autograd does not know."""
    node = scores.grad_fn
    while node is not None and node.name().startswith(_RESHAPING):
        node = node.next_functions[0][0] if node.next_functions else None
    return "" if node is None else node.name()
