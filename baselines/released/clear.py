"""CLEAR as the comparison behind Table 1 ran it: a conditional auto-encoder without a counterfactual signal.

What was computed: the auto-encoder learns to write a typical graph of the data set, and n² independent draws from it,
united into an undirected graph, are returned. They have about twice as many edges as the inputs, so on Tree-Cycles
every output has a cycle, whatever the input (Correctness is the share of trees); GED is what such a graph is away
from another. A decoder that knew nothing but the mean adjacency matrix would score 59.7 on Tree-Cycles and 1440 on
ASD.

Deviations of what was run from the original paper and from the text:

1. The auto-encoder is conditioned on the class that the graph *has*, in training and in explanation.
2. The classifier's term has no gradient: the oracle sees detached soft matrices. Its questions are counted all the
   same, one per graph and step, and make up the printed Oracle Calls: on Tree-Cycles 402 · 600 / 50 = 4824, times .9
   because one of ten folds was loaded from disk; on ASD 5339.4545.
3. The weights of the loss enter a printed value only: the terms are simply added up.
4. Noise is uniform on [0, 1) instead of normal.
5. Node features and u are drawn anew whenever they are read: they say nothing about the graph.
6. Every ordered pair is drawn for itself, self loops included, and u-v is an edge if either direction was drawn.
7. Batches of ⌊.15 N⌋ graphs in the order of the data, the last incomplete one dropped; 600 epochs, rate 1e-2, weight
   decay 5e-5, dropout .1.
8. Nodes are numbered as they first appear in a list of edges: so is the data set here, by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from rsgg.baselines.clear import CVAE, LATENT, N_AUXILIARY, Given, losses
from rsgg.errors import FitError, GraphError
from rsgg.explainer import Candidate, Capabilities, Choice, Explainer, Interval, hyper
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import CountingOracle
from rsgg.seeds import seed_for, streams, torch_rng, uniforms

N_FEATURES = 10  # columns of noise that stand for node features


@dataclass(kw_only=True)
class ReleasedCLEAR(Explainer):
    """CLEAR as released: it reconstructs."""

    epochs: int = hyper(600, "epochs", space=Choice((100, 300, 600)), paper=600, at_least=1)
    lr: float = hyper(1e-2, "learning rate", space=Choice((1e-4, 1e-3, 1e-2)), paper=1e-2, above=0)
    weight_decay: float = hyper(5e-5, "weight decay", at_least=0)
    dropout: float = hyper(0.1, "dropout", space=Choice((0.1, 0.25, 0.5)), paper=0.1, at_least=0, below=1)
    batch_ratio: float = hyper(0.15, "batch ratio", space=Choice((0.1, 0.15, 0.2)), paper=0.15, above=0, at_most=1)
    similarity: float = hyper(1.0, "λ_sim", space=Interval(0.1, 1.0), paper=1.0, at_least=0, doc="has no effect")
    divergence: float = hyper(1.0, "λ_kl", space=Interval(0.1, 1.0), paper=1.0, at_least=0, doc="has no effect")
    counterfactual: float = hyper(0.1, "λ_cfe", space=Interval(0.1, 1.0), paper=0.1, at_least=0, doc="has no effect")

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=True, removes=True, learns=True, generative=True, permutation_invariant=False, reads_labels=True,
        may_return_invalid=True,
    )  # fmt: skip

    @classmethod
    def tiny(cls) -> ReleasedCLEAR:
        return cls(epochs=20)

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        if not graphs.of_one_size:
            raise FitError("CLEAR decodes a fixed number of nodes and needs graphs of one size; use another method.")
        self.n_classes_ = oracle.n_classes
        size = max(2, int(self.batch_ratio * len(graphs)))
        batches = [batch for batch in torch.arange(len(graphs)).split(size) if len(batch) == size]
        rng = torch_rng(seed, "released clear")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_for(seed, "released clear"))
            self.network_ = CVAE(graphs.n_nodes, N_FEATURES, self.n_classes_, self.dropout)
            self._train(graphs, classes, batches, oracle, rng)
        self.network_.eval()

    def _train(
        self, graphs: GraphBatch, classes: Tensor, batches: list[Tensor], oracle: CountingOracle, rng: torch.Generator
    ) -> None:
        optimiser = torch.optim.Adam(self.network_.parameters(), lr=self.lr, weight_decay=self.weight_decay)
        self.history_: list[dict[str, float]] = []
        for epoch in range(self.epochs):
            for batch in batches:
                noise = torch.rand(len(batch), N_AUXILIARY + graphs.n_nodes * N_FEATURES + LATENT, generator=rng)
                given = self._given(graphs.adjacency[batch], classes[batch], noise)
                terms = losses(self.network_, given, noise[:, -LATENT:])
                loss = terms.divergence + terms.features + terms.edges
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                # As in the released code the oracle is asked, and the answer, which has no gradient, is not used.
                oracle.predict(graphs.candidates((terms.soft.detach() > 0.5).to(torch.uint8), batch))
            self.history_.append({"epoch": epoch, "loss": float(loss.detach()), "edges": float(terms.edges.detach())})

    def _given(self, adjacency: Tensor, classes: Tensor, noise: Tensor) -> Given:
        """What the auto-encoder reads: features and u are noise; the class is the one that the graph has."""
        batch, n, _ = adjacency.shape
        u = noise[:, :1].mul(N_AUXILIARY).long()[:, 0]
        features = noise[:, N_AUXILIARY : N_AUXILIARY + n * N_FEATURES].reshape(batch, n, N_FEATURES)
        condition = one_hot(classes, self.n_classes_).float()
        return Given(adjacency.float(), features, one_hot(u, N_AUXILIARY).float(), classes, condition)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        n = graphs.n_nodes
        if n != self.network_.n_nodes or not graphs.of_one_size:
            raise GraphError(f"CLEAR was fitted on graphs of {self.network_.n_nodes} nodes; fit it anew for these.")
        instance = torch.arange(len(graphs)).repeat_interleave(k)
        read = N_AUXILIARY + n * N_FEATURES + LATENT
        numbers = torch.from_numpy(uniforms(streams(graphs.names, k, seed, "released clear"), 0, read + n * n))
        noise = numbers[:, :read].float()
        given = self._given(graphs.adjacency[instance], classes[instance], noise)
        with torch.no_grad():
            mean, log_variance = self.network_.encode(given)
            soft = self.network_.decode(mean + (log_variance / 2).exp() * noise[:, -LATENT:], given)[1]
        drawn = numbers[:, read:].reshape(-1, n, n) < soft
        return [Candidate(adjacency) for adjacency in (drawn | drawn.transpose(1, 2)).to(torch.uint8)]

    def _state(self) -> dict[str, Tensor]:
        network = {f"network.{name}": tensor for name, tensor in self.network_.state_dict().items()}
        return {"shape": torch.tensor([self.network_.n_nodes, self.n_classes_]), **network}

    def _restore(self, state: dict[str, Tensor]) -> None:
        n, self.n_classes_ = state["shape"].tolist()
        self.network_ = CVAE(n, N_FEATURES, self.n_classes_, self.dropout).eval()
        weights = {name.removeprefix("network."): tensor for name, tensor in state.items() if "network." in name}
        self.network_.load_state_dict(weights)
        self.history_ = []
