"""The rows of the tables: declared once, buildable, and with nothing in them that equals a default."""

from __future__ import annotations

import sys
from dataclasses import is_dataclass, make_dataclass, replace
from typing import Any

import pytest

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import METHODS, Method
from benchmarks.results.cell import Cell
from rsgg.baselines.meg_molecules import MoleculeMEG
from rsgg.baselines.moo import MOO
from rsgg.baselines.released.moo import ReleasedMOO
from rsgg.errors import UsageError
from rsgg.explainer import Explainer
from rsgg.hyperparameters import hyper
from tests.standins import DATA, DRAWS, Draws

every_row = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.title)


# -- What is declared ------------------------------------------------------------------------------------


def test_rows_labels_and_looks_tell_methods_apart() -> None:
    assert len({method.row for method in METHODS}) == len(METHODS)
    assert len({method.label for method in METHODS}) == len(METHODS)
    looks = [(method.colour, method.marker) for method in METHODS]
    assert len(set(looks)) == len(looks), "two rows would be drawn alike"


def test_what_is_inferred_is_not_stated_as_known() -> None:
    """docs/evidence.md: no record of a failed run of MEG on ASD was found."""
    assert "inferred" in methods.rows()["meg", "released"].unsupported("asd")


@every_row
def test_a_row_can_be_built_anywhere_and_has_a_key(method: Method) -> None:
    cls = method.load()
    assert issubclass(cls, Explainer) and is_dataclass(cls)
    assert len(Cell(DATA, method, 0).key) == 64 and method.label
    for name in tasks.tasks():
        assert isinstance(method.for_task(name).build(), cls)
    built = method.build("meta")
    assert getattr(built, "device", "meta") == "meta"


@every_row
def test_white_box_is_what_the_class_says_with_the_options_of_every_task(method: Method) -> None:
    for name in tasks.tasks():
        assert method.for_task(name).build()._needs_relaxation() is method.white_box


@every_row
def test_who_is_told_probabilities_is_who_asks_for_them(method: Method) -> None:
    """MEG is rewarded by the relaxation's probabilities unless it is told classes only; MOO compares them; no other
    row asks for them."""
    built = [method.for_task(name).build() for name in tasks.tasks()]
    parts = [part for one in built for part in (one, getattr(one, "base", None))]
    asks = any(
        getattr(part, "reward", "") == "relaxed" or isinstance(part, MOO | ReleasedMOO | MoleculeMEG) for part in parts
    )
    assert method.told_probabilities is asks
    mark = "∇" if method.white_box else "ᵖ" if asks else ""
    assert methods.access(*method.row) == mark


@every_row
def test_the_variant_that_readers_see_is_true(method: Method) -> None:
    shown = methods.variant_label(*method.row)
    assert shown not in ("faithful", "literal", "released", "beyond")
    if method.name in ("rsgg-ce", "rsgg-ce-min"):
        assert "as its paper defines it" not in shown


@every_row
def test_every_declared_option_exists_and_differs_from_its_default(method: Method) -> None:
    """A default that is said aloud would give the same result another address."""
    defaults = method.defaults()
    assert set(method.on) <= set(tasks.tasks())
    assert "device" not in method.options
    for options in (method.options, *method.on.values()):
        for name, value in options.items():
            assert defaults[name] != value, f"{name}={value!r} is the default"
    for name, options in method.on.items():
        again = set(options.items()) & set(method.options.items())
        assert not again, f"{again} on {name} is what the row has anyway"


@every_row
def test_a_row_says_where_it_is_not_defined_and_why(method: Method) -> None:
    defined = {entry.name for entry in tasks.LEARNT} if method.learnt_only else method.tasks
    assert set(defined or ()) <= set(tasks.tasks())
    for name in tasks.tasks():
        reason = method.unsupported(name)
        assert bool(reason) == (defined is not None and name not in defined)
        assert not reason or reason.startswith(f"{method.label} is only defined for ")
    assert bool(method.limit) == (defined is not None)


def test_the_paper_s_rows_are_there_and_released_ones_are_known_as_such() -> None:
    for name in methods.PAPER:
        assert {(name, "faithful"), (name, "released")} <= set(methods.rows())
    assert {method.name for method in METHODS if method.as_released and method.variant == "control"} == {
        "released-untrained", "released-uniform",
    }  # fmt: skip


# -- Addresses -------------------------------------------------------------------------------------------


def test_a_new_option_with_a_default_changes_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of a row as declared, nor of one whose options were set one by one, nor of a small one."""
    wider = make_dataclass("Wider", [("newer", int, hyper(3, "n"))], bases=(Draws,), kw_only=True)
    monkeypatch.setattr(sys.modules[__name__], "Wider", wider, raising=False)
    newer = replace(DRAWS, explainer=f"{__name__}:Wider")
    assert newer.load() is wider

    def keys(method: Method) -> list[str]:
        variants = (method, method.with_options({"flips": 5}), method.tiny())
        return [Cell(DATA, variant, 0).key for variant in variants]

    assert keys(newer) == keys(DRAWS) and len(set(keys(DRAWS))) == 3
    changed = newer.with_options({"newer": 4})
    assert Cell(DATA, changed, 0).key != Cell(DATA, newer, 0).key


def test_options_that_are_set_to_their_defaults_are_left_out() -> None:
    method = replace(DRAWS, options={"flips": 5})
    assert method.with_options({"flips": 2}).options == {}
    assert method.with_options({}).options == {"flips": 5}
    assert DRAWS.with_options({"flips": 5, "device": "cpu"}) == method


def test_options_of_a_task_come_on_top_of_the_row_s_and_once_only() -> None:
    method = replace(DRAWS, options={"flips": 5}, on={"asd": {"flips": 7}})
    assert method.for_task("asd").options == {"flips": 7}
    assert method.for_task("tree-cycles").options == {"flips": 5}
    assert method.for_task("asd").for_task("tree-cycles").options == {"flips": 7}
    assert method.definition() == method.for_task("tree-cycles").definition()


def test_a_definition_names_what_differs_and_nothing_else() -> None:
    assert DRAWS.definition() == {"name": "draws", "variant": "control"}
    other = replace(DRAWS, revision=2, same_start=True, options={"flips": 3}, label="L", colour="C", explainer="a:B")
    assert other.definition() == {
        "name": "draws", "variant": "control", "revision": 2, "same_start": True, "options": {"flips": 3},
    }  # fmt: skip


# What makes a row the row it is; everything else is a value that was chosen on a task and belongs into `on`.
WHAT_A_ROW_IS = {"certify", "swaps", "node_edits", "generator", "sampler", "minimality", "reward", "logic", "rec_f"}


@every_row
def test_values_that_were_chosen_on_a_task_apply_there_only(method: Method) -> None:
    """On another data set a row has its class's own defaults."""
    assert set(method.options) <= WHAT_A_ROW_IS
    base: dict[str, Any] = {"base": Draws()} if method.base else {}
    elsewhere, own = (method.load()(**options, **base) for options in (method.for_task("mine").options, method.options))
    assert elsewhere.hyperparameters() == own.hyperparameters()


# -- Small and new ---------------------------------------------------------------------------------------


def _row(explainer: str, **options: Any) -> Method:
    return Method("m", "v", explainer, "M", options=options)


def test_tiny_keeps_what_a_row_is_about_and_shrinks_the_rest() -> None:
    assert _row("tests.standins:Draws", flips=7).tiny().options == {"flips": 1}
    wrapped = _row("rsgg.compose:Minimised", base=Draws(flips=7)).tiny()
    assert wrapped.options["base"].flips == 1
    assert methods.rows()["rsgg-ce-untrained", "control"].tiny().options["generator"] == "untrained"


def test_a_method_is_built_anew_for_every_cell() -> None:
    method = _row("rsgg.compose:Minimised", base=Draws())
    one, other = method.build(), method.build()
    assert one.base is not other.base, "what one fold learns is not there in the next"  # type: ignore[attr-defined]
    assert method.build("meta").base.device == "meta"  # type: ignore[attr-defined]
    assert method.options["base"].device == "cpu", "the declaration is no one's to change"


# -- Asking ----------------------------------------------------------------------------------------------


def test_rows_are_chosen_by_name_or_variant_in_the_order_of_the_registry() -> None:
    assert methods.choose() == tuple(METHODS) == methods.choose([])
    titles = [method.title for method in methods.choose(["cf2", "rsgg-ce:released,cf2"])]
    assert titles == ["rsgg-ce:released", "cf2:faithful", "cf2:released"]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("cf3", "There is no method 'cf3'; did you mean 'cf2'?"),
        ("cf3:released", "There is no method 'cf3'; did you mean 'cf2'?"),
        ("cf2:release", "There is no variant of cf2 'release'; did you mean 'released'?"),
    ],
)
def test_a_row_that_is_not_there_is_a_sentence(asked: str, sentence: str) -> None:
    with pytest.raises(UsageError) as raised:
        methods.choose([asked])
    assert str(raised.value) == sentence


def test_a_row_has_one_public_name_and_an_unknown_one_what_its_files_call_it() -> None:
    assert methods.label("cf2", "released") == "CF², as released"
    assert methods.label("theirs", "own") == "theirs (own)"
