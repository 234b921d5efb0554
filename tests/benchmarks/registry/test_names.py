"""What users type: lists, ranges, references, and one sentence for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.registry.names import imported, names, numbers, unknown
from rsgg.errors import UsageError


@pytest.mark.parametrize(
    ("asked", "found"),
    [(None, []), (["a,b", "c"], ["a", "b", "c"]), ([" a , ,a", "b"], ["a", "b"])],
)
def test_lists_of_names(asked: list[str] | None, found: list[str]) -> None:
    assert names(asked) == found


@pytest.mark.parametrize(
    ("asked", "found"),
    [(None, ()), (["0-2,5"], (0, 1, 2, 5)), (["7", "3-3,7"], (3, 7)), (["007"], (7,))],
)
def test_lists_of_numbers(asked: list[str] | None, found: tuple[int, ...]) -> None:
    assert numbers(asked, "fold") == found


@pytest.mark.parametrize("wrong", ["x", "-1", "1-", "1.5", "2-x", "²", "٣"])
def test_what_is_no_number_is_a_sentence(wrong: str) -> None:
    with pytest.raises(UsageError, match=f"^'{wrong}' is not a fold; give numbers such as 0-3,7.$"):
        numbers([wrong], "fold")


def test_an_empty_range_is_a_sentence() -> None:
    with pytest.raises(UsageError, match=r"^The range '3-1' of folds is empty; give the smaller number first.$"):
        numbers(["3-1"], "fold")


def test_an_unknown_name_is_answered_with_the_nearest_or_with_all() -> None:
    assert str(unknown("method", "cf", ["cf2", "meg"])) == "There is no method 'cf'; did you mean 'cf2'?"
    assert str(unknown("method", "zzz", ["cf2", "meg"])) == "There is no method 'zzz'; there are cf2, meg."


def test_references_are_found_on_the_path_and_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert imported("pathlib:Path") is Path
    assert imported("pathlib:Path.home") == Path.home
    (tmp_path / "only_here_in_names.py").write_text("class Outer:\n    value = 7\n")
    (tmp_path / "broken_in_names.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))  # undoes what is added to the path
    assert imported("only_here_in_names:Outer.value") == 7
    with pytest.raises(UsageError, match=r"^'broken_in_names' .* cannot be imported: division by zero; give a module"):
        imported("broken_in_names:Anything")


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("no_such_module:Class", "'no_such_module' .* cannot be imported: No module named 'no_such_module'; give a"),
        ("pathlib:Nothing", "The module 'pathlib' has no 'Nothing'; check the name after the colon"),
        ("pathlib:", "'pathlib:' names nothing in a module; write module:name"),
    ],
)
def test_a_wrong_reference_is_a_sentence(reference: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        imported(reference)


def test_an_option_that_names_nothing_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="',' names nothing"):
        names([","])
