"""DyGRACE: counterfactuals in a stream of graphs, by retrieval (Prenkaj, Villaizán-Vallelado, Leemann & Kasneci 2023).

Graphs come in snapshots. The oracle is asked about the first snapshot only; what is learnt there is carried on without
it. A counterfactual is not made but *retrieved*: it is a graph of the present snapshot.

*First snapshot.* One graph auto-encoder per class c learns to reconstruct the graphs of that class:

    Z = relu(S relu(S X W₁ + b₁) W₂ + b₂),   S = D^-½ (A + I) D^-½,   r_c(G) = mean((Z Zᵀ − A)²)

X has four centralities of each node (betweenness, closeness, harmonic, clustering). A logistic regression then learns
which pairs (G, H) of graphs are of different classes, from three numbers: −r_c̄(H), the error of the auto-encoder of
the other class, r_c(H), that of G's class c, and 1 / (1 + GED(G, H)). Pairs of different classes appear in both orders,
pairs of one class in one.

*Explaining G.* Its class is taken to be that of the auto-encoder with the smaller error; all graphs H of the snapshot
are ranked by the probability that the regression gives the pair (G, H). The oracle is not asked.

*Later snapshots.* Each graph is explained in turn. Where the regression calls some graph a counterfactual, the `top` of
the ranking are taken for counterfactuals and the last ones for graphs of G's class. Each auto-encoder is trained on
those of its class (minimise r) and against the others (minimise 20 / r), and the regression is fitted anew to the
pairs of this handful of graphs, with the classes that they were taken for.

Sources: arXiv 2308.02353 and the authors' repository HANSEL (`docs/evidence.md` cites path and line). Readings and
deviations:

1. A fold of a stream (`rsgg.data.streams`) gives the graphs before the present snapshot and half of the present one.
   `fit` goes through them in order; candidates are the graphs of the present half. The other half is explained without
   changing what was learnt, so that a result does not depend on which graphs were explained before it; in the
   repository every explained graph changes it.
2. r_c at explaining is that of the candidate H, as in training. The repository puts that of G there, which is the same
   for all candidates and so cannot rank them (`rec_f="instance"`; the row "as released").
3. The input itself is no candidate.
4. Both directions of an edge are used in S. The repository passes u < v only, so that messages go one way.
5. With more than two classes, r_c̄ is the smallest error among the other classes (the paper has two).
6. As GED is counted between equal node numbers, candidates have as many nodes as the input.
7. Its failures are failures with a reason. In the repository any exception makes it return the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import ClassVar, Self

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import expit
from torch import Tensor

from rsgg.baselines.search import numbered_distances
from rsgg.counterfactual import Candidate
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch, resized
from rsgg.hyperparameters import Choice, Interval, hyper
from rsgg.oracles.counting import CountingOracle
from rsgg.seeds import numpy_rng

Floats = np.ndarray
FEATURES = slice(1, 5)  # betweenness, closeness, harmonic and clustering among the columns of "centralities"
AGAINST = 20.0  # the repository's EPS: to reconstruct a graph badly is to make 20 / r small
BETAS, EPSILON = (0.9, 0.999), 1e-8  # Adam


@dataclass(frozen=True)
class Encoded:
    """What an auto-encoder reads of a graph of n nodes: A [n, n], S [n, n] and S X [n, 4], float64."""

    adjacency: Floats
    propagation: Floats
    inputs: Floats


def encoded(graphs: GraphBatch) -> list[Encoded]:
    """Each graph of a batch, without its padding."""
    features = graphs.encoding("centralities").double().numpy()[:, :, FEATURES]
    made = []
    for matrix, x, n in zip(graphs.adjacency.numpy(), features, graphs.sizes.tolist(), strict=True):
        a = (matrix[:n, :n] > 0).astype(float)
        scale = 1 / np.sqrt(a.sum(1) + 1)
        s = (a + np.eye(n)) * scale[:, None] * scale[None, :]
        made.append(Encoded(a, s, s @ x[:n]))
    return made


@dataclass
class Autoencoder:
    """Two graph convolutions and an inner product: weights W₁ [4, w], b₁ [w], W₂ [w, w], b₂ [w], changed in place."""

    weights: list[Floats]

    @classmethod
    def drawn(cls, width: int, rng: np.random.Generator) -> Self:
        """Glorot's uniform weights and no bias, as PyG's GCNConv starts."""
        shapes = ((FEATURES.stop - FEATURES.start, width), (width, width))
        first, second = (rng.uniform(-1, 1, shape) * np.sqrt(6 / sum(shape)) for shape in shapes)
        return cls([first, np.zeros(width), second, np.zeros(width)])

    def error(self, graph: Encoded) -> float:
        """r(G), the mean squared error of the reconstruction."""
        return self._forward(graph)[0]

    def _forward(self, graph: Encoded) -> tuple[float, Floats, Floats, Floats, Floats]:
        w1, b1, w2, b2 = self.weights
        hidden = np.maximum(graph.inputs @ w1 + b1, 0)
        passed = graph.propagation @ hidden
        z = np.maximum(passed @ w2 + b2, 0)
        difference = z @ z.T - graph.adjacency
        return float(np.square(difference).mean()), hidden, passed, z, difference

    def gradient(self, graph: Encoded) -> tuple[float, list[Floats]]:
        """r(G) and its derivative in each weight. The reconstruction is symmetric, so that dr/dZ = 4 (Z Zᵀ − A) Z / n².

        Written out, since a step on one small graph takes a tenth of the time of automatic differentiation.
        """
        error, hidden, passed, z, difference = self._forward(graph)
        into_z = 4 / difference.size * (difference @ z) * (z > 0)
        into_hidden = graph.propagation @ (into_z @ self.weights[2].T) * (hidden > 0)
        gradients = [graph.inputs.T @ into_hidden, into_hidden.sum(0), passed.T @ into_z, into_z.sum(0)]
        return error, gradients

    def train(self, graphs: Sequence[Encoded], epochs: int, lr: float, *, against: bool = False) -> list[float]:
        """Adam, one graph at a step; `against`: minimise 20 / r instead of r. Returns the mean r of each epoch."""
        first, second = ([np.zeros_like(weight) for weight in self.weights] for _ in range(2))
        step, means = 0, []
        for _ in range(epochs):
            errors = []
            for graph in graphs:
                error, gradients = self.gradient(graph)
                errors.append(error)
                factor = -AGAINST / max(error, EPSILON) ** 2 if against else 1.0
                step += 1
                rate = lr * np.sqrt(1 - BETAS[1] ** step) / (1 - BETAS[0] ** step)
                small = EPSILON * np.sqrt(1 - BETAS[1] ** step)
                for weight, own, m, v in zip(self.weights, gradients, first, second, strict=True):
                    own *= factor
                    m += (1 - BETAS[0]) * (own - m)
                    v += (1 - BETAS[1]) * (own * own - v)
                    weight -= rate * m / (np.sqrt(v) + small)
            means.append(float(np.mean(errors)) if errors else float("nan"))
        return means


@dataclass(frozen=True)
class Regression:
    """A logistic regression: P(y = 1 | x) = σ(x · slope + intercept)."""

    slope: Floats
    intercept: float

    @classmethod
    def fitted(cls, x: Floats, y: Floats) -> Self:
        """The minimum of ½‖slope‖² + Σ log(1 + exp(−± (x · slope + intercept))): scikit-learn's default, C = 1."""

        def objective(values: Floats) -> tuple[float, Floats]:
            score = x @ values[:-1] + values[-1]
            wrong = expit(score) - y
            loss = np.logaddexp(0, score).sum() - (score * y).sum() + 0.5 * np.square(values[:-1]).sum()
            return float(loss), np.append(x.T @ wrong + values[:-1], wrong.sum())

        found = minimize(objective, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 1000})
        return cls(found.x[:-1], float(found.x[-1]))

    def __call__(self, x: Floats) -> Floats:
        probability: Floats = expit(x @ self.slope + self.intercept)
        return probability


@dataclass(kw_only=True)
class DyGRACE(Explainer):
    """DyGRACE, see the top of this file. Graphs without a time, `snapshot=0`, are one snapshot."""

    snapshot: int = hyper(0, "snapshot", at_least=0, doc="training graphs per snapshot, in order; 0: all are one")
    latent: int = hyper(
        2, "d", paper=2, space=Choice((2, 4, 8)), at_least=1, doc="half of the width of the auto-encoders"
    )
    epochs: int = hyper(20, "epochs", paper=20, space=Choice((20, 50, 100)), at_least=1, doc="of each training")
    lr: float = hyper(1e-3, "lr", paper=1e-3, space=Interval(1e-4, 1e-2, log=True), above=0.0, doc="Adam's rate")
    top: int = hyper(
        5, "K", paper=5, space=Choice((3, 5, 10)), at_least=1, doc="graphs that are learnt from for each graph"
    )
    rec_f: str = hyper("candidate", "rec_f", choices=("candidate", "instance"), doc="whose error r_c ranks candidates")

    encoding: ClassVar[str] = "centralities"
    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=True, removes=True, learns=True, permutation_invariant=False, deterministic=True, may_return_invalid=True
    )

    @classmethod
    def tiny(cls) -> Self:
        return cls(epochs=2)

    def _asks_about(self, n_graphs: int) -> int:
        return min(self.snapshot or n_graphs, n_graphs)

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        size = self.snapshot or len(graphs)
        snapshots = [graphs[start : start + size] for start in range(0, len(graphs), size)]
        first = encoded(snapshots[0])
        self.autoencoders_, self.losses_ = list[Autoencoder](), list[list[float]]()
        for c in range(oracle.n_classes):
            autoencoder = Autoencoder.drawn(2 * self.latent, numpy_rng(seed, "dygrace", c))
            own = [first[i] for i in (classes[: len(first)] == c).nonzero().flatten().tolist()]
            self.losses_.append(autoencoder.train(own, self.epochs, self.lr))
            self.autoencoders_.append(autoencoder)
        self.regression_ = Regression(np.zeros(3), 0.0)
        self._fit_regression(self._errors(first), _similarities(snapshots[0], snapshots[0]), classes[: len(first)])
        for later in snapshots[1:]:
            self._adapt(later)
        self.seen_ = GraphBatch(snapshots[-1].adjacency, snapshots[-1].sizes, names=("",) * len(snapshots[-1]))
        self.seen_errors_ = self._errors(encoded(snapshots[-1]))

    def _errors(self, graphs: Sequence[Encoded]) -> Floats:
        """r_c(G) of each graph for each class, [B, C]."""
        return np.array([[one.error(graph) for one in self.autoencoders_] for graph in graphs])

    def _pairs(self, of: int, errors: Floats, own_errors: Floats, similarity: Floats) -> Floats:
        """What the regression reads, at explaining, of the pairs of a graph of class `of` with others, [K, 3].

        `errors` [K, C] and `similarity` [K] are those of the others, `own_errors` [C] are the graph's.
        """
        read = _read(np.full(len(errors), of), errors, similarity)
        if self.rec_f == "instance":
            read[:, 1] = own_errors[of]
        return read

    def _fit_regression(self, errors: Floats, similarity: Floats, classes: Tensor) -> None:
        """Fit the regression to the pairs of these graphs, if there are pairs of both kinds; `similarity` is [B, B].

        In training r_c is the candidate's, whatever it is at explaining.
        """
        c = classes.tolist()
        apart = [pair for pair in permutations(range(len(c)), 2) if c[pair[0]] != c[pair[1]]]
        alike = [pair for pair in combinations(range(len(c)), 2) if c[pair[0]] == c[pair[1]]]
        if not apart or not alike:
            return
        a, b = np.array(apart + alike).T
        x = _read(np.array(c)[a], errors[b], similarity[a, b])
        self.regression_ = Regression.fitted(x, np.repeat([1.0, 0.0], [len(apart), len(alike)]))

    def _adapt(self, graphs: GraphBatch) -> None:
        """Explain the graphs of a later snapshot in turn, and learn from what is found; the oracle is not asked."""
        known, similarity = encoded(graphs), _similarities(graphs, graphs)
        for i in range(len(graphs)):
            errors = self._errors(known)
            of = int(errors[i].argmin())
            fits = (graphs.sizes == graphs.sizes[i]).numpy() & (np.arange(len(graphs)) != i)
            rows = fits.nonzero()[0]
            chance = self.regression_(self._pairs(of, errors[rows], errors[i], similarity[i, rows]))
            if not (chance > 0.5).any():  # no graph is taken for a counterfactual
                continue
            ranking = rows[np.argsort(-chance, kind="stable")]
            apart = ranking[: self.top].tolist()
            alike = [row for row in ranking[::-1][: self.top].tolist() if row not in apart]
            other = int(np.where(np.arange(errors.shape[1]) == of, np.inf, errors[i]).argmin())
            for c, own, against in ((of, alike, apart), (other, apart, alike)):
                self.autoencoders_[c].train([known[row] for row in own], self.epochs, self.lr)
                self.autoencoders_[c].train([known[row] for row in against], self.epochs, self.lr, against=True)
            handful = [i, *apart, *alike]
            taken_for = torch.tensor([of] + [other] * len(apart) + [of] * len(alike))
            self._fit_regression(
                self._errors([known[row] for row in handful]), similarity[np.ix_(handful, handful)], taken_for
            )

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        own_errors, similarity = self._errors(encoded(graphs)), _similarities(graphs, self.seen_)
        results: list[Candidate] = []
        for i, errors in enumerate(own_errors):
            same_size = (self.seen_.sizes == graphs.sizes[i]).numpy()
            rows = (same_size & (similarity[i] < 1)).nonzero()[0]  # similarity 1: the input itself
            features = self._pairs(int(errors.argmin()), self.seen_errors_[rows], errors, similarity[i, rows])
            ranking = rows[np.argsort(-self.regression_(features), kind="stable")][:k]
            matrices = resized(self.seen_.adjacency[ranking], graphs.n_nodes)
            results += [Candidate(matrix) for matrix in matrices]
            reason = f"the snapshot has {len(rows)} other graphs of {int(graphs.sizes[i])} nodes"
            results += [Candidate(None, reason)] * (k - len(ranking))
        return results

    def _state(self) -> dict[str, Tensor]:
        weights = {
            f"autoencoder.{c}.{i}": torch.from_numpy(weight)
            for c, one in enumerate(self.autoencoders_)
            for i, weight in enumerate(one.weights)
        }
        regression = np.append(self.regression_.slope, self.regression_.intercept)
        return weights | {
            "regression": torch.from_numpy(regression),
            "seen.adjacency": self.seen_.adjacency,
            "seen.sizes": self.seen_.sizes,
            "seen.errors": torch.from_numpy(self.seen_errors_),
        }

    def _restore(self, state: dict[str, Tensor]) -> None:
        n_classes = state["seen.errors"].shape[1]
        self.autoencoders_ = [
            Autoencoder([state[f"autoencoder.{c}.{i}"].numpy() for i in range(4)]) for c in range(n_classes)
        ]
        regression = state["regression"].numpy()
        self.regression_ = Regression(regression[:-1], float(regression[-1]))
        self.seen_ = GraphBatch(state["seen.adjacency"], state["seen.sizes"], names=("",) * len(state["seen.sizes"]))
        self.seen_errors_ = state["seen.errors"].numpy()


def _read(of: Floats, errors: Floats, similarity: Floats) -> Floats:
    """−r_c̄(H), r_c(H) and the similarity of each pair (G, H), [K, 3].

    `of` [K] is the class of each G; `errors` [K, C] are those of each H, `similarity` [K] is that of the pair.
    """
    own = np.arange(errors.shape[1])[None, :] == of[:, None]
    return np.stack((-np.where(own, np.inf, errors).min(1), errors[own], similarity), 1)


def _similarities(graphs: GraphBatch, others: GraphBatch) -> Floats:
    """1 / (1 + GED), nodes with equal numbers being the same, of each graph with each of the others, [B, K]."""
    distance = numbered_distances(graphs.adjacency, others.adjacency).double()
    similarity: Floats = (1 / (1 + distance)).numpy()
    return similarity
