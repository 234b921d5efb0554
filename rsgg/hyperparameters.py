"""Hyper-parameters: how a method declares them, which values they may have, and what is saved of them.

A method is a dataclass whose fields are declared by `hyper`: default, symbol in the paper, bounds, and the values that
a search tries. `Hyperparameters` is the base that checks them. A saved method has its values in the header of its file:
`as_json` writes them as JSON, `saved_values` reads them back.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rsgg.errors import DataError, UsageError


@dataclass(frozen=True)
class Choice:
    """A finite search space."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Interval:
    """A continuous search space, sampled on a log scale where `log`."""

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Limits:
    """Which values a field may have.

    `choices` lists them; the other bounds are for numbers. `check` is for what bounds cannot say: a function of the
    value that returns what to give instead, or an empty string if the value is fine.
    """

    choices: tuple[Any, ...] = ()
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    check: Callable[[Any], str] | None = None

    def bounds(self) -> str:
        """The bounds in words, such as "above 0 and at most 1"."""
        named = (("at least", self.at_least), ("above", self.above), ("at most", self.at_most), ("below", self.below))
        return " and ".join(f"{words} {bound:g}" for words, bound in named if bound is not None)

    def contain(self, value: float) -> bool:
        """Is this number of at most 64 bits, finite and within the bounds?"""
        return (
            (abs(value) < 2**63 if isinstance(value, Integral) else math.isfinite(value))
            and (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )


def hyper(
    default: Any,
    symbol: str,
    *,
    space: Choice | Interval | None = None,
    paper: Any = None,
    doc: str = "",
    beyond: bool = False,
    choices: tuple[Any, ...] = (),
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    check: Callable[[Any], str] | None = None,
) -> Any:
    """Declare a hyper-parameter of an explainer.

    Args:
        default: the value it has if none is given.
        symbol: how the method's paper writes it.
        space: the values that a search tries.
        paper: the value that the paper chose.
        doc: what it means, in a few words.
        beyond: it is not the paper's, so a search of the paper's space leaves it alone.
        choices: all values that are allowed.
        at_least, above, at_most, below: bounds of a number.
        check: a function of the value that returns what to give instead, or "" if the value is fine.

    Values are checked when an explainer is made and again in `fit`. A field annotated `int`, `float`, `bool` or `str`
    accepts values of that type only; numbers must be finite.
    """
    limits = Limits(choices, at_least, above, at_most, below, check)
    about = {"symbol": symbol, "space": space, "paper": paper, "doc": doc, "beyond": beyond, "limits": limits}
    return field(default=default, metadata=about)


def device_field() -> Any:
    """Declare where a method computes: "cpu", or "cuda" where torch finds a GPU. No hyper-parameter of the method."""
    return field(default="cpu", metadata={"limits": Limits(check=_device_advice)})


def _device_advice(device: Any) -> str:
    advice = "give 'cpu', or 'cuda' where torch finds a GPU"
    if not isinstance(device, str):
        return advice
    try:
        torch.empty(0, device=device)
    except Exception:  # which one depends on the device and on how torch was built
        return advice
    return advice if device == "meta" else ""


_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("a whole number", lambda value: isinstance(value, Integral) and not isinstance(value, bool)),
    "float": ("a number", lambda value: isinstance(value, Real) and not isinstance(value, bool)),
    "bool": ("True or False", lambda value: isinstance(value, bool | np.bool_)),
    "str": ("a string", lambda value: isinstance(value, str)),
}


def _advice(value: Any, declared: Field[Any]) -> str:
    """What to give instead of this value of a field, or an empty string where the value is allowed."""
    limits = declared.metadata.get("limits", Limits())
    annotation = declared.type if isinstance(declared.type, str) else getattr(declared.type, "__name__", "")
    if limits.check is not None:
        return str(limits.check(value))
    if limits.choices:
        known = isinstance(value, str | Real) and value in limits.choices
        return "" if known else f"give one of {', '.join(map(repr, limits.choices))}"
    if annotation.endswith(" | None"):
        if value is None:
            return ""
        annotation = annotation.removesuffix(" | None")
    kind = _KINDS.get(annotation)
    if kind is None:
        return ""
    words, fits = kind
    if fits(value) and (annotation not in ("int", "float") or limits.contain(value)):
        return ""
    bounds = limits.bounds()
    return f"give {words}" + (f" {'of ' if bounds.startswith('at') else ''}{bounds}" if bounds else "")


class Hyperparameters:
    """Base of dataclasses whose fields are declared by `hyper`: values are checked against what is declared."""

    def check_values(self) -> None:
        """Raise `UsageError` with a sentence where a field has a value that its declaration does not allow."""
        for declared in fields(self):  # type: ignore[arg-type]
            value = getattr(self, declared.name)
            advice = _advice(value, declared)
            if advice:
                raise UsageError(f"{type(self).__name__} cannot use {declared.name} = {reprlib.repr(value)}; {advice}.")

    def hyperparameters(self) -> dict[str, Any]:
        """Names and values of the hyper-parameters: what a result depends on besides data, oracle and seed."""
        return {f.name: getattr(self, f.name) for f in fields(self) if "symbol" in f.metadata}  # type: ignore[arg-type]

    @classmethod
    def search_space(cls, *, beyond: bool = True) -> dict[str, Choice | Interval]:
        """The searched hyper-parameters; without `beyond`, those of the paper only."""
        searched = {f.name: f.metadata for f in fields(cls) if f.metadata.get("space") is not None}  # type: ignore[arg-type]
        return {name: about["space"] for name, about in searched.items() if beyond or not about.get("beyond")}


# -- What is saved of them -------------------------------------------------------------------------------


def as_json(values: dict[str, Any]) -> dict[str, Any]:
    """Hyper-parameters as the header of a saved file has them."""
    return {name: _as_json(value) for name, value in values.items()}


def _as_json(value: Any) -> Any:
    """A hyper-parameter as the header of a saved file has it: plain values as they are, of an object its class."""
    if isinstance(value, np.generic):
        value = value.item()
    if _is_plain(value):
        return value
    several = isinstance(value, list | tuple)
    return {"object": ", ".join(type(one).__name__ for one in value) if several else type(value).__name__}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_plain(item) for item in value)
    return value is None or isinstance(value, bool | int | float | str)


def saved_values(
    cls: type[Hyperparameters], header: dict[str, Any], given: dict[str, Any], path: str | Path
) -> dict[str, Any]:
    """Saved hyper-parameters as constructor arguments: lists that were tuples become tuples, objects the defaults."""
    saved = header.get("hyperparameters")
    if not isinstance(saved, dict):
        raise DataError(f"{path} does not hold a saved explainer; give a file that save wrote.")
    declared = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    unknown = sorted(set(given) - set(declared))
    if unknown:
        raise UsageError(f"{cls.__name__} has no {unknown[0]!r}; load takes only its own hyper-parameters.")
    arguments = {}
    for name, value in saved.items():
        if name not in declared:
            raise DataError(f"{path} was saved by a {cls.__name__} that had {name!r}; fit and save it again.")
        default = _default(declared[name])
        if not isinstance(value, dict):
            arguments[name] = tuple(value) if isinstance(value, list) and isinstance(default, tuple) else value
        elif name not in given and value.get("object") != type(default).__name__:
            raise UsageError(
                f"This {cls.__name__} was saved with {name} = {value.get('object')}; give it again with load({name}=…)."
            )
    return arguments


def _default(declared: Field[Any]) -> Any:
    if declared.default_factory is not MISSING:
        return declared.default_factory()
    return declared.default
