"""Models and functions that answer oddly, as oracles."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rsgg.baselines.controls import Empty, TwoSided
from rsgg.baselines.search import OBS, IRand
from rsgg.oracles import CallableOracle, PyGOracle
from tests.fuzz.accepted import Case, sound_results
from tests.fuzz.odd_values import GRAPHS, SCALARS, N


class Answers(nn.Module):
    """A model that answers what it is told to, from its x and the number of edges of each graph."""

    def __init__(self, answer: Callable[[Tensor, int], Any]) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, x: Any, edge_index: Any, batch: Any) -> Any:
        count = int(batch.max()) + 1
        edges = torch.bincount(batch[edge_index[0]], minlength=count).float() / 2
        return self.answer(edges, count)


class AloneAnswers(Answers):
    def forward(self, x: Any, edge_index: Any) -> Any:  # type: ignore[override]
        return self.answer(torch.tensor([edge_index.shape[1] / 2]), 1)


class DataAnswers(Answers):
    def forward(self, data: Any) -> Any:  # type: ignore[override]
        return super().forward(data.x, data.edge_index, data.batch)


class StarAnswers(Answers):
    def forward(self, *a: Any) -> Any:
        return super().forward(*a)


class FourAnswers(Answers):
    def forward(self, a: Any, b: Any, c: Any, d: Any) -> Any:  # type: ignore[override]
        return super().forward(a, b, c)


class NothingAnswers(Answers):
    def forward(self) -> Any:  # type: ignore[override]
        return torch.zeros(1, 2)


def _raises(error: BaseException) -> Any:
    raise error


ANSWERS: tuple[Callable[[Tensor, int], Any], ...] = (
    lambda e, n: torch.stack((e - N, N - e), 1),
    lambda e, n: torch.stack((e - N, N - e, e * 0), 1),
    lambda e, n: e - N + 0.5,
    lambda e, n: (e >= N).long(),
    lambda e, n: (e >= N).long() * 99,
    lambda e, n: -(e >= N).long(),
    lambda e, n: torch.sigmoid(e - N + 0.5),
    lambda e, n: torch.full((n, 2), float("nan")),
    lambda e, n: torch.where((e % 2 == 0)[:, None], torch.nan, torch.stack((e - N, N - e), 1)),
    lambda e, n: torch.full((n, 2), float("inf")),
    lambda e, n: torch.zeros(n, 2),
    lambda e, n: torch.zeros(n, 0),
    lambda e, n: torch.zeros(n + 1, 2),
    lambda e, n: torch.zeros(2),
    lambda e, n: torch.zeros(()),
    lambda e, n: torch.zeros(n, 2, 2),
    lambda e, n: torch.zeros(n, 2, dtype=torch.complex64),
    lambda e, n: torch.zeros(n, 2, device="meta"),
    lambda e, n: torch.zeros(n, 2).to_sparse(),
    lambda e, n: torch.stack((e - N, N - e), 1).to(torch.bfloat16),
    lambda e, n: torch.stack((e - N, N - e), 1).numpy(),
    lambda e, n: None,
    lambda e, n: "x",
    lambda e, n: [1] * n,
    lambda e, n: (),
    lambda e, n: {},
    lambda e, n: {"logits": torch.stack((e - N, N - e), 1)},
    lambda e, n: (None, torch.stack((e - N, N - e), 1)),
    lambda e, n: torch.rand(n, 2),
    lambda e, n: _raises(ValueError("no")),
    lambda e, n: _raises(KeyError("no")),
    lambda e, n: _raises(MemoryError()),
    lambda e, n: _raises(StopIteration()),
    lambda e, n: _raises(RecursionError()),
    lambda e, n: _raises(AssertionError()),
)
STEADY = 28  # the answer after these is random
KINDS = (Answers, Answers, AloneAnswers, DataAnswers, StarAnswers, FourAnswers, NothingAnswers)


def a_model(draw: random.Random) -> Case:
    number = draw.randrange(len(ANSWERS))
    model: Any = draw.choice(KINDS)(ANSWERS[number])
    if draw.random() < 0.1:
        model = draw.choice((*SCALARS, Answers, nn.Linear(2, 2), nn.Module(), nn.Identity()))
    options: dict[str, Any] = {}
    for option, values in (("n_classes", (2, 3, *SCALARS)), ("output", ("logits", "probabilities", "auto", *SCALARS))):
        if draw.random() < 0.3:
            options[option] = draw.choice(values)
    if draw.random() < 0.2:
        options["edge_weights"] = draw.choice((True, *SCALARS))
    explainer = draw.choice((OBS(), TwoSided(), Empty(), IRand()))

    def ask() -> None:
        oracle = PyGOracle(model, **options)
        results = explainer.explain(GRAPHS, oracle)
        sound_results(results, None if number == STEADY else oracle, len(GRAPHS), 1)

    return ask


def a_function(draw: random.Random) -> Case:
    returned = draw.choice((*SCALARS, [0.2, 0.8], torch.tensor([1.0, 0.0]), [float("nan")] * 2, np.zeros(3), "yes"))
    functions: tuple[Any, ...] = (
        lambda data: returned,
        lambda data: int(data.num_edges >= 2 * N),
        lambda data: returned if data.num_edges >= 2 * N else 0,
        lambda: 0,
        lambda data: _raises(ZeroDivisionError()),
        lambda data: [int(one.num_edges >= 2 * N) for one in data],
    )
    function = draw.choice(SCALARS) if draw.random() < 0.1 else draw.choice(functions)
    options: dict[str, Any] = {}
    if draw.random() < 0.4:
        options["lists"] = draw.choice((True, *SCALARS))
    if draw.random() < 0.3:
        options["n_classes"] = draw.choice((2, 3, *SCALARS))

    def ask() -> None:
        oracle = CallableOracle(function, **options)
        sound_results(OBS().explain(GRAPHS, oracle), oracle, len(GRAPHS), 1)

    return ask
