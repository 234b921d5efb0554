"""Small bugs, made on purpose: every way in which one operator, constant or statement of a module can be changed.

A mutant is one change in the syntax tree. What cannot change a result is left alone: docstrings, type hints, the
sentences of errors, decorators, `strict=True` of zip, what a hyper-parameter only says about itself (`doc`, `space`,
`paper`), and the small versions of methods for quick checks.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
SWAPPED_NAMES = {
    one: other
    for a, b in (
        ("min", "max"),
        ("amin", "amax"),
        ("minimum", "maximum"),
        ("argmin", "argmax"),
        ("any", "all"),
    )
    for one, other in ((a, b), (b, a))
} | {"mean": "sum"}
SAYS_ONLY = {"doc", "space", "paper", "strict"}  # keywords that change no result; strict=True only checks
NOT_MEANT = {"tiny"}  # functions: a small version of a method for quick checks, where any numbers will do
SMALLEST_CONSTANT = 1e-3  # smaller ones are tolerances, whose size is a matter of taste


@dataclass(frozen=True, eq=False)
class Mutant:
    """Where (`function`, `line` to `last_line`: its statement), what is changed into what, and how to change it."""

    function: str
    line: int
    last_line: int
    before: str
    after: str
    parent: ast.AST
    field: str
    index: int | None
    replacement: ast.AST
    occurrence: int = 0  # of the same change in the same function

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells a mutant from the others of its module; the line is no part of it, since lines move."""
        return self.function, self.before, self.after, str(self.occurrence)

    def apply(self) -> None:
        """Change the tree that this mutant was made from."""
        ast.copy_location(self.replacement, self.replaced)
        if self.index is None:
            setattr(self.parent, self.field, self.replacement)
        else:
            getattr(self.parent, self.field)[self.index] = self.replacement
        ast.fix_missing_locations(self.parent)

    @property
    def replaced(self) -> ast.AST:
        found = getattr(self.parent, self.field)
        node: ast.AST = found if self.index is None else found[self.index]
        return node


def mutants_of(tree: ast.Module, only: tuple[str, ...] = ()) -> list[Mutant]:
    """All mutants of a module, or of the functions and classes at its top level that `only` names."""
    found: list[Mutant] = []
    for index, statement in enumerate(tree.body):
        name = getattr(statement, "name", "")
        if not only or name in only:
            found += _in_statement(statement, tree, "body", index, "")
    seen: dict[tuple[str, str, str], int] = {}
    numbered = []
    for mutant in found:
        change = mutant.key[:3]
        seen[change] = seen.get(change, -1) + 1
        numbered.append(Mutant(**{**vars(mutant), "occurrence": seen[change]}))
    return numbered


def sample(mutants: list[Mutant], count: int) -> list[Mutant]:
    """At most `count` of them, in their order: those with the smallest hashes, so that editing a function changes the
    choice there and hardly anywhere else."""
    chosen = sorted(mutants, key=lambda mutant: hashlib.sha256("\n".join(mutant.key).encode()).digest())[:count]
    return sorted(chosen, key=mutants.index)


# -- Walking the tree --------------------------------------------------------------------------------------


def _in_statement(node: ast.stmt, parent: ast.AST, field: str, index: int | None, function: str) -> Iterator[Mutant]:
    if _says_only(node):
        return
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}" if function else node.name
    place = (function or "module", node)
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield _mutant(place, parent, field, index, ast.Pass())
    yield from _below(node, place)


def _below(node: ast.AST, place: tuple[str, ast.stmt]) -> Iterator[Mutant]:
    """The mutants of a node's children: statements by themselves, expressions and what is inside them."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases", "format_spec"):
            continue
        children = enumerate(value) if isinstance(value, list) else ((None, value),)
        for index, child in children:
            if isinstance(child, ast.stmt):
                yield from _in_statement(child, node, field, index, "" if place[0] == "module" else place[0])
            elif isinstance(child, ast.keyword):
                if child.arg not in SAYS_ONLY:
                    yield from _keyword(child, node, field, index, place)
                    yield from _below(child, place)
            elif isinstance(child, ast.expr):
                for replacement in _replacements(child):
                    yield _mutant(place, node, field, index, replacement)
                if not _is_negative_number(child):  # -1 is one constant: its other sign is its only mutant
                    yield from _below(child, place)
            elif isinstance(child, ast.AST):
                yield from _below(child, place)
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Compare | ast.UnaryOp):
        yield _mutant(place, node, "test", None, ast.UnaryOp(ast.Not(), node.test))


def _says_only(node: ast.stmt) -> bool:
    """Statements without a result: imports, docstrings, errors and what only type checkers read."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Raise):
        return True
    if isinstance(node, ast.FunctionDef) and node.name in NOT_MEANT:
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def _mutant(
    place: tuple[str, ast.stmt], parent: ast.AST, field: str, index: int | None, replacement: ast.AST
) -> Mutant:
    function, statement = place
    found = getattr(parent, field)
    old: ast.AST = found if index is None else found[index]
    if isinstance(parent, ast.Call) and isinstance(old, ast.Constant):
        called = ast.unparse(parent.func)
        before, after = f"{called}(… {ast.unparse(old)} …)", f"{called}(… {ast.unparse(replacement)} …)"
    elif isinstance(parent, ast.expr | ast.keyword) and isinstance(old, ast.Constant):
        before, after = ast.unparse(parent), _unparse_with(parent, field, index, replacement)
    else:
        before, after = ast.unparse(old), ast.unparse(replacement)
    block = getattr(statement, "body", None)  # of an if or a loop only the head is meant
    last = block[0].lineno - 1 if block else statement.end_lineno or statement.lineno
    line = getattr(old, "lineno", statement.lineno)
    return Mutant(function, line, max(line, last), before, after, parent, field, index, replacement)


def _unparse_with(parent: ast.AST, field: str, index: int | None, replacement: ast.AST) -> str:
    found = getattr(parent, field)
    old = found if index is None else found[index]
    if index is None:
        setattr(parent, field, replacement)
    else:
        found[index] = replacement
    text = ast.unparse(parent)
    if index is None:
        setattr(parent, field, old)
    else:
        found[index] = old
    return text


def _is_negative_number(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)


# -- What an expression can be changed into ----------------------------------------------------------------


def _keyword(
    keyword: ast.keyword, parent: ast.AST, field: str, index: int | None, place: tuple[str, ast.stmt]
) -> Iterator[Mutant]:
    """clamp(min=…) into clamp(max=…)."""
    if keyword.arg in ("min", "max"):
        yield _mutant(place, parent, field, index, ast.keyword(SWAPPED_NAMES[keyword.arg], keyword.value))


def _replacements(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            for other in COMPARISONS[type(operator)]:
                yield ast.Compare(node.left, [*node.ops[:i], other(), *node.ops[i + 1 :]], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Constant):
        yield from (ast.Constant(value) for value in _other_constants(node.value))
    elif isinstance(node, ast.Call):
        yield from _other_calls(node)


def _other_constants(value: object) -> Iterator[bool | int | float]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
        if value == 1:
            yield 0
    elif isinstance(value, float) and value == 0:
        yield 1.0
    elif isinstance(value, float) and abs(value) >= SMALLEST_CONSTANT:
        yield value * 2


def _other_calls(node: ast.Call) -> Iterator[ast.expr]:
    """min for max, all for any, a sum for a mean, and no abs."""
    function = node.func
    if isinstance(function, ast.Name) and function.id in SWAPPED_NAMES:
        yield ast.Call(ast.Name(SWAPPED_NAMES[function.id], ast.Load()), node.args, node.keywords)
    if isinstance(function, ast.Attribute) and function.attr in SWAPPED_NAMES:
        swapped = ast.Attribute(function.value, SWAPPED_NAMES[function.attr], ast.Load())
        yield ast.Call(swapped, node.args, node.keywords)
    if ast.unparse(function) in ("abs", "np.abs", "torch.abs"):
        yield node.args[0]
    elif isinstance(function, ast.Attribute) and function.attr == "abs":
        yield function.value
