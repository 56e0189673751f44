"""Mutants: small wrong changes of the source, each at one place, drawn by a seed.

The source is edited as text at the place of a node, so that lines, comments and everything else stay. Nothing is
changed in docstrings, annotations, decorators, assertions, f-strings, and in what a ``raise`` says.
"""

from __future__ import annotations

import ast
import io
import random
import tokenize
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise, zip_longest
from pathlib import Path

from tests.mutation.packages import MODULE, Function, sources

SIGNS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+")}
PRODUCTS = {ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
BOUNDS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}
CONNECTIVES = {ast.And: ("and", "or"), ast.Or: ("or", "and")}
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "amin": "amax", "amax": "amin"}
#: Operands of ``+`` that are not numbers.
SEQUENCES = (ast.List, ast.Tuple, ast.JoinedStr, ast.ListComp)

Edit = tuple[str, int, int, str]


@dataclass(frozen=True)
class Mutant:
    """A change in a function of a file: from ``start`` to ``end`` of the text ``new`` instead of ``old``."""

    package: str
    path: str
    function: str
    line: int
    operator: str
    start: int
    end: int
    old: str
    new: str

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line} {self.operator} {self.start}"

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]


class Text:
    """A source file with its places as offsets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """From where to where a node stands."""
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _place(self, line: int, column: int) -> int:
        """The offset of a place of the syntax tree, which counts columns in bytes."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    @cached_property
    def tokens(self) -> list[tuple[int, str]]:
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        kinds = (tokenize.OP, tokenize.NAME)
        return [(self.starts[t.start[0] - 1] + t.start[1], t.string) for t in tokens if t.type in kinds]

    def between(self, left: ast.AST, right: ast.AST, token: str) -> tuple[int, int]:
        """Where a token stands between two nodes."""
        begin = bisect_left(self.tokens, (self.span(left)[1], ""))
        start = next(place for place, string in self.tokens[begin:] if string == token)
        return start, start + len(token)

    def line(self, place: int) -> int:
        return bisect_right(self.starts, place)


def mutants(package: str, path: str, text: str) -> Iterator[Mutant]:
    """All mutants of a file."""
    source = Text(text)
    for function, node in _places(ast.parse(text), MODULE):
        for operator, start, end, new in _edits(source, node):
            yield Mutant(package, path, function, source.line(start), operator, start, end, text[start:end], new)


def drawn(root: Path, seed: int, count: int) -> list[Mutant]:
    """Some mutants: equally many of each package, and within it of each operator, as far as there are any.

    They take turns, so that the first of them are spread as all of them are.
    """
    rng = random.Random(seed)
    found: dict[str, dict[str, list[Mutant]]] = defaultdict(lambda: defaultdict(list))
    for package, path in sources(root):
        for mutant in mutants(package, path, (root / path).read_text(encoding="utf-8")):
            found[package][mutant.operator].append(mutant)
    for operators in found.values():
        for ones in operators.values():
            rng.shuffle(ones)
    packages = [_turns([operators[name] for name in sorted(operators)]) for _, operators in sorted(found.items())]
    return list(islice((mutant for mutant in _turns(packages) if _is_python(root, mutant)), count))


def _turns(lists: list[list[Mutant]]) -> list[Mutant]:
    """The first of each list, then the second of each, and so on."""
    return [mutant for turn in zip_longest(*lists) for mutant in turn if mutant is not None]


def _is_python(root: Path, mutant: Mutant) -> bool:
    try:
        ast.parse(mutant.applied((root / mutant.path).read_text(encoding="utf-8")))
    except SyntaxError:
        return False
    return True


def _places(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST]]:
    """The nodes that may be changed, each with the function it runs in."""
    yield function, node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        inside = _inside(node, field, function)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_left_alone(child):
                yield from _places(child, inside)


def _inside(node: ast.AST, field: str, function: str) -> str:
    """The function in which a part of a node runs: defaults of arguments where the definition is."""
    if field == "body" and isinstance(node, Function | ast.ClassDef):
        return node.name if function == MODULE else f"{function}.{node.name}"
    return function


def _is_left_alone(node: ast.AST) -> bool:
    typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    return typing or isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom)


def _edits(source: Text, node: ast.AST) -> Iterator[Edit]:
    """The changes at a node: an operator of mutation, from where to where, the new text."""
    match node:
        case ast.BinOp(left, operator, right):
            yield from _arithmetic(source, left, operator, right)
        case ast.UnaryOp(ast.USub()):
            start = source.span(node)[0]
            yield "sign", start, start + 1, ""
        case ast.Constant(value) if type(value) is int:
            yield "constant", *source.span(node), str(value - 1 if value > 1 and value % 2 else value + 1)
        case ast.Compare():
            yield from _bounds(source, node)
        case ast.BoolOp():
            for left, right in pairwise(node.values):
                old, new = CONNECTIVES[type(node.op)]
                yield "connective", *source.between(left, right, old), new
        case ast.Call():
            yield from _calls(source, node)
    yield from _branches(source, node)


def _arithmetic(source: Text, left: ast.expr, operator: ast.operator, right: ast.expr) -> Iterator[Edit]:
    text = any(isinstance(side, SEQUENCES) or _is_text(side) for side in (left, right))
    for kind, table in (("sign", SIGNS), ("product", PRODUCTS)):
        if type(operator) in table and not text:
            old, new = table[type(operator)]
            yield kind, *source.between(left, right, old), new


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _bounds(source: Text, node: ast.Compare) -> Iterator[Edit]:
    for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
        if type(operator) in BOUNDS:
            old, new = BOUNDS[type(operator)]
            yield "bound", *source.between(left, right, old), new


def _calls(source: Text, node: ast.Call) -> Iterator[Edit]:
    """An extreme for its opposite; two names next to each other swapped."""
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if name in EXTREMES:
        end = source.span(node.func)[1]
        yield "extreme", end - len(name), end, EXTREMES[name]
    for left, right in pairwise(node.args):
        names = isinstance(left, ast.Name) and isinstance(right, ast.Name)
        if names and name not in ("isinstance", "issubclass") and ast.unparse(left) != ast.unparse(right):
            (start, middle), (after, end) = source.span(left), source.span(right)
            text = source.text
            yield "arguments", start, end, text[after:end] + text[middle:after] + text[start:middle]


def _branches(source: Text, node: ast.AST) -> Iterator[Edit]:
    """A condition negated; an early ``return`` that does not happen, its lines kept."""
    tests = [node.test] if isinstance(node, ast.If | ast.While | ast.IfExp) else getattr(node, "ifs", [])
    for test in tests:
        start, end = source.span(test)
        yield "condition", start, end, f"(not ({source.text[start:end]}))"
    if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return):
        start, end = source.span(node.body[-1])
        yield "return", start, end, "pass" + "\n" * source.text.count("\n", start, end)
