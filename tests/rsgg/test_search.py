"""The ranked search against oracles that are any function of a set of edits, brute force included."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rsgg.edits import NOTHING, Codes, edited
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle
from rsgg.oracles.oracle import Oracle
from rsgg.rsgg_ce.search import (
    UNKNOWN,
    Found,
    Lengths,
    Orders,
    Search,
    feasible,
    halving,
    in_lock_step,
    ranked,
)

Flips = Callable[[frozenset[int]], bool]


def run(search: Search, flips: Flips, budget: int = 10_000) -> list[frozenset[int]]:
    """Answer a search's questions; returns them."""
    asked: list[frozenset[int]] = []
    question = next(search, None)
    while question is not None and len(asked) < budget:
        edits = frozenset(question.tolist())
        assert len(edits) == len(question), "no edit twice"
        asked.append(edits)
        try:
            question = search.send(flips(edits))
        except StopIteration:
            question = None
    return asked


def orders(removals: int, additions: int) -> Orders:
    """Removals 0, 1, …, additions 100, 101, …, in this order."""
    one, other = np.arange(removals), 100 + np.arange(additions)
    both = min(removals, additions)
    in_turn = np.stack((one[:both], other[:both]), 1).ravel()
    return Orders(one, other, np.concatenate((in_turn, one[both:], other[both:])))


def found_by(
    order: Orders,
    flips: Flips,
    *,
    lengths: Lengths = UNKNOWN,
    certify: bool = False,
    random: tuple[Orders, ...] = (),
    swaps: int = 0,
) -> tuple[Found, list[frozenset[int]]]:
    found = Found()
    return found, run(ranked(order, random, lengths, found, certify=certify, swaps=swaps), flips)


rules = st.lists(st.frozensets(st.sampled_from([0, 1, 2, 3, 4, 100, 101, 102]), min_size=1, max_size=4), max_size=4)


@given(rules, st.booleans())
def test_what_a_monotone_oracle_accepts_is_found_and_is_the_shortest_prefix_of_its_side(
    needs: list[frozenset[int]], certify: bool
) -> None:
    """The oracle flips where the edits contain one of the sets: then both sides together always flip, if any does."""

    def flips(edits: frozenset[int]) -> bool:
        return any(need <= edits for need in needs)

    found, asked = found_by(orders(5, 3), flips, certify=certify)
    assert (found.edits is not None) == bool(needs)
    if found.edits is None:
        return
    edits = frozenset(found.edits.tolist())
    assert flips(edits) and edits in asked, "it was shown to the oracle"
    if certify:
        assert found.irreducible
        assert not any(flips(edits - {edit}) for edit in edits)
    elif edits <= set(range(5)):
        assert edits == set(range(len(edits))) and not flips(edits - {len(edits) - 1})


@given(st.integers(0, 2**16), rules)
def test_a_certificate_holds_for_oracles_that_are_not_monotone(key: int, needs: list[frozenset[int]]) -> None:
    def flips(edits: frozenset[int]) -> bool:
        return hash((key, *sorted(edits))) % 3 == 0 and bool(edits)

    found, asked = found_by(orders(5, 4), flips, certify=True, random=(orders(5, 4),))
    if found.edits is not None:
        edits = frozenset(found.edits.tolist())
        assert flips(edits) and edits in asked and found.irreducible
        assert not any(flips(edits - {edit}) for edit in edits)


def test_another_edit_instead_of_two_is_looked_for_as_long_as_questions_last() -> None:
    def flips(edits: frozenset[int]) -> bool:  # 0 and 1 are needed together; 3 alone is enough
        return {0, 1} <= edits or 3 in edits

    order = orders(5, 0)
    without, asked = found_by(order, flips, certify=True)
    assert set(without.edits.tolist()) == {0, 1} and without.irreducible  # type: ignore[union-attr]
    found, more = found_by(order, flips, certify=True, swaps=2)  # 2, then 3
    assert found.edits.tolist() == [3] and found.irreducible  # type: ignore[union-attr]
    assert more == [*asked, frozenset({2}), frozenset({3})]
    stopped, fewer = found_by(order, flips, certify=True, swaps=1)
    assert set(stopped.edits.tolist()) == {0, 1} and stopped.irreducible  # type: ignore[union-attr]
    assert fewer == [*asked, frozenset({2})]


def test_no_swap_is_tried_below_what_training_graphs_needed_or_with_fewer_questions_than_pairs() -> None:
    needs_three = frozenset({0, 1, 2})
    order = orders(6, 0)
    _, asked = found_by(order, needs_three.issubset, certify=True)
    assert found_by(order, needs_three.issubset, certify=True, swaps=2)[1] == asked  # three pairs of edits
    assert len(found_by(order, needs_three.issubset, certify=True, swaps=3)[1]) == len(asked) + 3
    known = Lengths(removals=np.array([3, 4]))
    _, expected = found_by(order, needs_three.issubset, lengths=known, certify=True)
    assert found_by(order, needs_three.issubset, lengths=known, certify=True, swaps=9)[1] == expected


def test_the_fewest_edits_are_those_of_any_side() -> None:
    both = np.array([[1, 1], [2, 3]])
    assert UNKNOWN.fewest == 1
    assert Lengths(removals=np.array([3, 4]), both=both).fewest == 2
    assert Lengths(removals=np.array([3, 4]), additions=np.array([5])).fewest == 3


@given(st.integers(0, 9), rules.filter(len), st.integers(0, 12))
def test_swaps_never_lengthen_what_is_found_and_their_certificates_hold(
    key: int, needs: list[frozenset[int]], swaps: int
) -> None:
    def flips(edits: frozenset[int]) -> bool:  # not monotone
        return any(need <= edits for need in needs) and hash((key, tuple(sorted(edits)))) % 3 > 0

    before, asked = found_by(orders(5, 3), flips, certify=True)
    found, more = found_by(orders(5, 3), flips, certify=True, swaps=swaps)
    assert more[: len(asked)] == asked
    if before.edits is not None and found.edits is not None:
        edits = frozenset(found.edits.tolist())
        assert len(edits) <= len(before.edits) and flips(edits) and edits in more and found.irreducible
        assert not any(flips(edits - {edit}) for edit in edits)


def test_a_good_order_costs_one_question_and_its_certificate_none() -> None:
    found, asked = found_by(orders(9, 9), lambda edits: 0 in edits, certify=True)
    assert asked == [frozenset({0})]
    assert found.irreducible and found.certificate_calls == 0


def test_the_side_and_length_that_training_graphs_needed_are_tried_first() -> None:
    lengths = Lengths(np.array([6]), np.array([3, 3, 4]))
    _, asked = found_by(orders(20, 20), lambda edits: len(edits & set(range(100, 120))) >= 3, lengths=lengths)
    assert asked == [frozenset({100, 101, 102}), frozenset({100, 101})]


def test_expected_lengths_make_a_search_short() -> None:
    lengths = Lengths(np.arange(1, 33), NOTHING)

    def questions(needed: int) -> int:
        return len(found_by(orders(64, 0), lambda edits: len(edits) >= needed, lengths=lengths)[1])

    worst = max(map(questions, range(1, 33)))
    assert worst <= 6, "log2 of 32 lengths, and one more"


def test_without_a_flip_on_one_side_both_are_interleaved_and_then_random_orders_follow() -> None:
    needs = {0, 1, 100, 101}
    found, _ = found_by(orders(6, 6), lambda edits: needs <= edits and len(edits) < 8, certify=True)
    assert found.edits is not None and set(found.edits.tolist()) == needs
    reversed_ = Orders(np.arange(6)[::-1], 100 + np.arange(6)[::-1], NOTHING)
    found, _ = found_by(orders(6, 6), lambda edits: edits == {5, 4}, random=(reversed_,))
    assert found.edits is not None and set(found.edits.tolist()) == {4, 5}


def test_a_certificate_of_many_edits_costs_little_more_than_a_question_for_each_needed_one() -> None:
    """Of 200 edits ten are needed; showing all of them again after every drop would take thousands of questions."""
    needs = frozenset(range(5, 200, 20))
    found, _ = found_by(orders(200, 0), lambda edits: needs <= edits, certify=True)
    assert found.edits is not None and set(found.edits.tolist()) == needs and found.irreducible
    assert found.certificate_calls <= 10 * (2 * 5 + 2), "doubling blocks to and from each, and once more at the end"


def test_prefixes_of_both_sides_are_combined_smallest_first() -> None:
    corners = [frozenset(one.tolist()) for one in orders(3, 2).corners()]
    assert corners == [
        frozenset((*range(r), *range(100, 100 + a))) for r, a in ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2))
    ]
    assert list(orders(3, 0).corners()) == []


def test_the_combinations_that_training_graphs_needed_are_tried_first() -> None:
    lengths = Lengths(np.array([9]), both=np.array([[2, 1], [3, 1], [2, 1]]))
    found, asked = found_by(orders(20, 20), lambda edits: {0, 1, 100} <= edits, lengths=lengths)
    assert asked[0] == {0, 1, 100} and found.edits is not None and len(found.edits) == 3


@given(st.integers(0, 2**16))
def test_mixtures_find_what_orders_do_not_and_are_shrunk(key: int) -> None:
    """Only sets of two removals and one addition, or more of both, flip; and not all of them."""

    def flips(edits: frozenset[int]) -> bool:
        removed = sum(edit < 100 for edit in edits)
        return (removed, len(edits) - removed) in ((2, 1), (2, 2)) and hash((key, *sorted(edits))) % 4 > 0

    found = Found()
    asked = run(ranked(None, [], UNKNOWN, found, certify=True, mixtures=orders(4, 4).corners()), flips)
    assert found.edits is None or (flips(frozenset(found.edits.tolist())) and found.irreducible)
    assert (found.edits is not None) == any(flips(frozenset(one.tolist())) for one in orders(4, 4).corners())
    assert all(len(edits) > 0 for edits in asked)


@given(st.frozensets(st.integers(0, 29), min_size=1, max_size=5))
def test_halving_finds_what_is_needed_in_few_questions(needs: frozenset[int]) -> None:
    found = Found()
    asked = run(halving(np.arange(30), 0, found), lambda edits: needs <= edits)
    assert found.edits is not None and set(found.edits.tolist()) == needs
    assert len(asked) <= len(needs) * (1 + 5)  # log2 30 < 5


@given(rules, st.integers(0, 12))
def test_what_a_search_has_found_when_it_is_ended_flips(needs: list[frozenset[int]], budget: int) -> None:
    found = Found()
    run(ranked(orders(5, 3), [], UNKNOWN, found, certify=True), lambda e: any(n <= e for n in needs), budget)
    assert found.edits is None or any(need <= set(found.edits.tolist()) for need in needs)


def test_what_is_not_allowed_is_never_asked_about() -> None:
    found = Found()
    search = feasible(ranked(orders(6, 6), [], UNKNOWN, found, certify=True), lambda edits: len(edits) % 2 == 0)
    asked = run(search, lambda edits: len(edits) >= 3)
    assert asked and all(len(edits) % 2 == 0 for edits in asked)
    assert found.edits is not None and len(found.edits) == 4


# -- Many graphs ---------------------------------------------------------------------------------------------------


class MoreEdges(Oracle):
    """Class 1 from `least` edges on."""

    name = "more-edges"

    def __init__(self, least: int) -> None:
        self.least, self.batches = least, 0

    def predict(self, graphs: GraphBatch) -> torch.Tensor:
        self.batches += 1
        return (graphs.n_edges >= self.least).long()


def paths(*sizes: int) -> GraphBatch:
    import networkx as nx

    return GraphBatch.of([nx.path_graph(size) for size in sizes])


def test_edits_flip_pairs_in_both_triangles() -> None:
    graphs = paths(3, 4)
    n = graphs.n_nodes
    made = edited(graphs, torch.tensor([1, 0]), [np.array([0 * n + 1, 0 * n + 3]), NOTHING])
    assert torch.equal(made[1], graphs.adjacency[0]) and torch.equal(made[0], made[0].T)
    assert made[0, 0, 3] == 1 and made[0, 1, 0] == 0 and int(made[0].sum()) == 2 * 3


def all_pairs(size: int, n: int) -> Codes:
    return np.array([u * n + v for u, v in combinations(range(size), 2) if v > u + 1])


@pytest.mark.parametrize("budget", [None, 2])
def test_searches_run_together_and_are_charged_apart(budget: int | None) -> None:
    graphs = paths(4, 6, 6)
    oracle = MoreEdges(least=6)
    counted = CountingOracle(oracle, budget)
    found = [Found() for _ in range(3)]
    n = graphs.n_nodes
    searches = [
        ranked(Orders(NOTHING, all_pairs(size, n), NOTHING), [], UNKNOWN, one, certify=False)
        for size, one in zip((4, 6, 6), found, strict=True)
    ]
    in_lock_step(searches, graphs, range(3), [7, 8, 9], counted, lambda answers, own: answers == 1)
    lengths = [None if one.edits is None else len(one.edits) for one in found]
    if budget is None:
        assert lengths == [3, 1, 1]  # of 3, 5 and 5 edges
        assert [counted.calls_of(owner) for owner in (7, 8, 9)] == [3, 1, 1]  # 1, 2 and 3 (all) additions; then one
        assert oracle.batches == 3
    else:
        assert lengths == [None, 1, 1] and counted.calls_of(7) == 2
