"""Node encodings: what a network is told about each node, computed from the adjacency matrix alone.

The paper feeds node features X to its generator but its data have none (Section 5), so structural ones are used.

- `structural` (float32): degree, probability that a random walk is back after 2 … 8 steps, core number. Renumber the
  nodes and the rows move along (permutation equivariance).
- `centralities` (float64): the eight raw values that the released code computes with NetworkX, in the node order
  given. The last, the Laplacian spectrum, puts eigenvalue i on node i: not equivariant, but the released code does so.

A batch is one block-diagonal sparse matrix, so that each step is one sparse product for all graphs; what needs dense
linear algebra is solved for all graphs at once. Rows of padding nodes are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.sparse import csr_array, eye_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from rsgg.errors import UsageError

if TYPE_CHECKING:
    from rsgg.graph import GraphBatch

VERSION = 1  # part of the name of cached encodings: raise it when a value changes

STRUCTURAL = ("degree", *(f"return_{steps}" for steps in range(2, 9)), "core")
CENTRALITIES = ("degree", "betweenness", "closeness", "harmonic", "clustering", "katz", "second_order", "laplacian")

KATZ_ALPHA = 0.1  # NetworkX's default
PAIRS_AT_ONCE = 4_000_000  # node pairs per block of graphs, so that memory does not grow with the data set


def encode(graphs: GraphBatch, kind: str) -> Tensor:
    """Encodings [B, N, d] of every node, d = 9 for "structural" and 8 for "centralities"; columns as listed above."""
    if kind not in _KINDS:
        raise UsageError(f"There is no node encoding {kind!r}; choose one of {', '.join(_KINDS)}.")
    at_once = max(1, PAIRS_AT_ONCE // graphs.n_nodes**2)
    parts = [_KINDS[kind](graphs[i : i + at_once]) for i in range(0, len(graphs), at_once)]
    return torch.cat(parts) * graphs.node_mask[:, :, None]


def _structural(graphs: GraphBatch) -> Tensor:
    a = block_diagonal(graphs)
    columns = [_degree(a), *_return_probabilities(a), _core_number(a)]
    return _rows(columns, graphs).float()


def _centralities(graphs: GraphBatch) -> Tensor:
    a = block_diagonal(graphs)
    n = np.repeat(graphs.sizes.numpy(), graphs.n_nodes)
    paths = _shortest_paths(a)
    columns = [_degree(a), _betweenness(a, paths, n), _closeness(paths, n), _harmonic(paths), clustering(a)]
    dense = [_katz(graphs), _second_order(a, graphs), _laplacian_spectrum(graphs)]
    return torch.cat((_rows(columns, graphs), torch.stack(dense, 2)), 2)


_KINDS: dict[str, Callable[[GraphBatch], Tensor]] = {"structural": _structural, "centralities": _centralities}


def block_diagonal(graphs: GraphBatch) -> csr_array:
    """All graphs as one: node v of graph b is row b·N + v. Multiplicities and self loops are left out."""
    b, u, v = graphs.entries()
    simple = u != v
    offset, total = b[simple] * graphs.n_nodes, len(graphs) * graphs.n_nodes
    ones = np.ones(len(offset))
    return csr_array((ones, (offset + u[simple], offset + v[simple])), shape=(total, total))


def _rows(columns: list[np.ndarray], graphs: GraphBatch) -> Tensor:
    """Values per row of the block-diagonal matrix, as [B, N, d]."""
    return torch.from_numpy(np.stack(columns, 1)).reshape(len(graphs), graphs.n_nodes, len(columns))


def _degree(a: csr_array) -> np.ndarray:
    degree: np.ndarray = np.diff(a.indptr).astype(np.float64)
    return degree


def _divide(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """numerator / denominator, and 0 where the denominator is 0."""
    quotient: np.ndarray = np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0)
    return quotient


# -- Structural ------------------------------------------------------------------------------------------


def _return_probabilities(a: csr_array) -> list[np.ndarray]:
    """diag(P^k), k = 2 … 8, for the random walk P = D⁻¹A; 0 for an isolated node, which has no walk.

    P^k has the diagonal of S^k with the symmetric S = D^-½ A D^-½, and (S^(i+j))_vv = Σ_w (S^i)_vw (S^j)_vw, so
    powers up to 4 are enough.
    """
    scale = np.sqrt(_divide(np.ones(a.shape[0]), _degree(a)))
    s = a.multiply(scale[:, None]).multiply(scale[None, :]).tocsr()
    power = [eye_array(a.shape[0], format="csr"), s]
    while len(power) <= 4:
        power.append(power[-1] @ s)
    return [power[k // 2].multiply(power[k - k // 2]).sum(1) for k in range(2, 9)]


def _core_number(a: csr_array) -> np.ndarray:
    """The largest k for which a node belongs to a subgraph of minimum degree k: all graphs are peeled together."""
    core, alive, k = np.zeros(a.shape[0]), np.ones(a.shape[0]), 1
    while alive.any():
        weak = (alive > 0) & (a @ alive < k)
        if weak.any():
            alive[weak] = 0
        else:
            core[alive > 0] = k
            k += 1
    return core


# -- Centralities along shortest paths -------------------------------------------------------------------


def _shortest_paths(a: csr_array) -> list[csr_array]:
    """Element d holds, for all pairs (s, v) at distance d, the number of shortest paths: breadth-first search from
    every node of every graph at once.

    One step from distance d leads to distance d - 1, d or d + 1, so that only two earlier steps have to be taken out.
    """
    paths = [eye_array(a.shape[0], format="csr"), a]
    while paths[-1].nnz:
        step = paths[-1] @ a
        seen = step.multiply(_pattern(paths[-1]) + _pattern(paths[-2]))
        beyond = step - seen  # whole numbers: what was seen cancels to exactly 0
        beyond.eliminate_zeros()
        paths.append(beyond.tocsr())
    return paths[:-1]


def _pattern(matrix: csr_array) -> csr_array:
    return csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


def _betweenness(a: csr_array, paths: list[csr_array], n: np.ndarray) -> np.ndarray:
    """Share of shortest paths through a node, over (n - 1)(n - 2) ordered pairs (Brandes' accumulation).

    The dependency of s on v is Σ paths(s, v) / paths(s, w) · (1 + dependency of s on w) over the neighbours w of v that
    are one step further from s.
    """
    total = np.zeros(a.shape[0])
    dependency = csr_array(a.shape)
    for d in range(len(paths) - 1, 1, -1):
        inverse = paths[d].copy()
        inverse.data = 1 / inverse.data
        flow = (_pattern(paths[d]) + dependency).multiply(inverse)
        dependency = (flow @ a).multiply(paths[d - 1]).tocsr()
        total += dependency.sum(0)
    return _divide(total, ((n - 1) * (n - 2)).astype(np.float64))


def _closeness(paths: list[csr_array], n: np.ndarray) -> np.ndarray:
    """(r / (n - 1)) · (r / Σ distances) over the r nodes that can be reached (Wasserman & Faust's scaling)."""
    at = [np.diff(pairs.indptr).astype(np.float64) for pairs in paths[1:]]
    reached = sum(at, np.zeros(len(n)))
    farness = sum((d * count for d, count in enumerate(at, 1)), np.zeros(len(n)))
    return _divide(reached**2, farness * (n - 1))


def _harmonic(paths: list[csr_array]) -> np.ndarray:
    """Σ 1 / distance."""
    at = [np.diff(pairs.indptr) for pairs in paths[1:]]
    return sum((count / d for d, count in enumerate(at, 1)), np.zeros(paths[0].shape[0]))


def clustering(a: csr_array) -> np.ndarray:
    """Share of pairs of neighbours that are neighbours themselves."""
    degree = _degree(a)
    return _divide((a @ a).multiply(a).sum(1), degree * (degree - 1))


# -- Centralities by linear algebra ----------------------------------------------------------------------


def _simple(graphs: GraphBatch) -> Tensor:
    """Dense A, float64 [B, N, N], without multiplicities and self loops."""
    a = (graphs.adjacency > 0).double()
    return a * (1 - torch.eye(graphs.n_nodes, dtype=a.dtype))


def _laplacian(a: Tensor) -> Tensor:
    return torch.diag_embed(a.sum(2)) - a


def _katz(graphs: GraphBatch) -> Tensor:
    """x = .1 A x + 1, scaled to unit norm.

    The system is solved, as `katz_centrality_numpy` does. Power iteration would need all eigenvalues of A below 10,
    which ASD's are not. Where 10 is itself an eigenvalue, the limit from below .1 is taken.
    """
    a, real = _simple(graphs), graphs.node_mask.double()
    identity = torch.eye(graphs.n_nodes, dtype=a.dtype)
    x, singular = torch.linalg.solve_ex(identity - KATZ_ALPHA * a, real)
    if (bad := singular > 0).any():
        x[bad] = torch.linalg.solve(identity - KATZ_ALPHA * (1 - 1e-10) * a[bad], real[bad])
    katz: Tensor = x * real
    norm: Tensor = torch.linalg.vector_norm(katz, dim=1) * torch.where(katz.sum(1) < 0, -1.0, 1.0)
    return katz / norm[:, None]


def _second_order(a: csr_array, graphs: GraphBatch) -> Tensor:
    """Standard deviation of the return times of an unbiased walk, within each connected component.

    Self loops make all degrees equal to the largest, Δ, so that the walk is I - L/Δ and visits all n nodes equally
    often. Then the mean times to reach v, summed over all starts, are n² Δ (L⁺)_vv + n, and the deviation is
    sqrt(2 n² Δ (L⁺)_vv - n (n - 1)). NetworkX refuses disconnected graphs; here n, Δ and L⁺ are the component's own,
    and an isolated node gets 0.
    """
    _, label = connected_components(a, directed=False)
    component = torch.from_numpy(label).reshape(len(graphs), graphs.n_nodes)
    together = (component[:, :, None] == component[:, None, :]).double()
    n = together.sum(2)
    laplacian = _laplacian(_simple(graphs))
    largest = (together * laplacian.diagonal(dim1=1, dim2=2)[:, None, :]).amax(2)
    # L + J is regular for J = 1/n inside components, and its inverse is L⁺ + J.
    inverse: Tensor = torch.linalg.inv(laplacian + together / n[:, :, None])
    pseudo_inverse = inverse.diagonal(dim1=1, dim2=2) - 1 / n
    return (2 * n**2 * largest * pseudo_inverse - n * (n - 1)).clamp(min=0).sqrt()


def _laplacian_spectrum(graphs: GraphBatch) -> Tensor:
    """Eigenvalues of L in rising order, one per row: a property of the graph, not of the node it is written to."""
    padding = (~graphs.node_mask).double()
    beyond = 2.0 * graphs.n_nodes + 1  # larger than any eigenvalue of L, so that padding comes last
    spectrum: Tensor = torch.linalg.eigvalsh(_laplacian(_simple(graphs)) + beyond * torch.diag_embed(padding))
    return spectrum
