"""The tree of a spec as written: every node has its span; nothing is resolved yet.

Statements keep the order of the file. Numbers are exact fractions.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from fractions import Fraction

from energyc.language.diagnostics import Span


@dataclass(frozen=True)
class Tree:
    """Anything with a place in the text."""

    span: Span


@dataclass(frozen=True)
class Name(Tree):
    """A name where it stands."""

    text: str


# ------------------------------------------------------------------ expressions


@dataclass(frozen=True)
class Expr(Tree):
    """An expression."""


@dataclass(frozen=True)
class Number(Expr):
    """A literal, exact: ``0.02`` is 1/50."""

    value: Fraction
    text: str


@dataclass(frozen=True)
class Unary(Expr):
    """``-e`` or ``not e``; ``op`` is ``-`` or ``not``."""

    op: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Expr):
    """``op`` is one of ``+ - * / ^ and or``."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Compare(Expr):
    """A chain ``operands[0] ops[0] operands[1] ops[1] ...``; ops are ``<= >= == != < >``."""

    ops: tuple[str, ...]
    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class Slot(Tree):
    """One place in a bracket: an index expression, with ``in DIM`` where it is written."""

    expr: Expr
    dim: Name | None


@dataclass(frozen=True)
class Argument(Tree):
    """One argument of a call; ``keyword`` for ``eps = 1e-6``."""

    keyword: Name | None
    value: Expr


@dataclass(frozen=True)
class Apply(Expr):
    """``NAME ' [slots | guard] (args)``: a name, an element, a reduction and a call alike.

    ``slots`` is None without a bracket, ``arguments`` None without a call.
    """

    name: Name
    prime: bool
    slots: tuple[Slot, ...] | None
    guard: Expr | None
    arguments: tuple[Argument, ...] | None


@dataclass(frozen=True)
class Field(Expr):
    """``binding.field`` or ``layer.state``, with the bracket's slots if there is one."""

    owner: Name
    field: Name
    slots: tuple[Slot, ...] | None


# ------------------------------------------------------------------ pieces of declarations


@dataclass(frozen=True)
class Law(Tree):
    """A starting law: ``normal(0.02)``, ``glorot``."""

    name: Name
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Box(Tree):
    """``[lo, hi]``."""

    low: Expr
    high: Expr


@dataclass(frozen=True)
class NamedSet(Tree):
    """``standardized[D]``, ``nonnegative``, ``norm[0.9]``: a set with its ``bound`` and dims."""

    name: Name
    bound: Expr | None
    dims: tuple[Name, ...]


@dataclass(frozen=True)
class Definition(Tree):
    """``NAME = EXPR`` of a dim or const."""

    name: Name
    value: Expr


@dataclass(frozen=True)
class InputItem(Tree):
    """``x[C, S] : V = images.masked`` of a clamp or target; ``kind`` is a dim's name."""

    name: Name
    dims: tuple[Name, ...]
    kind: Name | None
    source: Field | None


@dataclass(frozen=True)
class ParamItem(Tree):
    """``W[D, C] ~ law``, ``b[D] = 0``, ``in A and B``; with neither, the law of a later item on the line holds."""

    name: Name
    dims: tuple[Name, ...]
    law: Law | None
    value: Expr | None
    domains: tuple[Box | NamedSet, ...]


@dataclass(frozen=True)
class NoiseItem(Tree):
    """``eps[N, D] ~ law``; without a law, that of a later item on the line holds."""

    name: Name
    dims: tuple[Name, ...]
    law: Law | None


@dataclass(frozen=True)
class StateItem(Tree):
    """``z[N, D] in A and B``."""

    name: Name
    dims: tuple[Name, ...]
    domains: tuple[Box | NamedSet, ...]


@dataclass(frozen=True)
class IndexBinder(Tree):
    """An index on a left side: ``i`` or ``i in G``."""

    name: Name
    dim: Name | None


@dataclass(frozen=True)
class Left(Tree):
    """A left side: a name and its indices; ``indices`` is None without a bracket."""

    name: Name
    indices: tuple[IndexBinder, ...] | None


# ------------------------------------------------------------------ settings


@dataclass(frozen=True)
class Value(Tree):
    """A setting's value."""


@dataclass(frozen=True)
class NumberValue(Value):
    """``150``, ``-1``, ``1/2``: exact."""

    number: Fraction


@dataclass(frozen=True)
class WordValue(Value):
    """``centered-ep``."""

    word: str


@dataclass(frozen=True)
class CallValue(Value):
    """``cosine(warmup = 100)``."""

    word: str
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class ListValue(Value):
    """``[macro_f1, auc]``."""

    items: tuple[Value, ...]


@dataclass(frozen=True)
class Pair(Tree):
    """``key.path = value``."""

    key: tuple[Name, ...]
    value: Value

    @property
    def path(self) -> str:
        """The key with its dots."""
        return ".".join(name.text for name in self.key)


# ------------------------------------------------------------------ statements


@dataclass(frozen=True)
class Statement(Tree):
    """One line or block of a spec."""


@dataclass(frozen=True)
class Definitions(Statement):
    """``dim`` or ``const``: ``word`` says which."""

    word: str
    items: tuple[Definition, ...]


@dataclass(frozen=True)
class Data(Statement):
    """``data NAME = ADAPTER(pairs)``."""

    name: Name
    adapter: Name
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Inputs(Statement):
    """``clamp`` or ``target``: ``word`` says which."""

    word: str
    items: tuple[InputItem, ...]


@dataclass(frozen=True)
class Params(Statement):
    """``param ...``."""

    items: tuple[ParamItem, ...]


@dataclass(frozen=True)
class Noises(Statement):
    """``noise ...``."""

    items: tuple[NoiseItem, ...]


@dataclass(frozen=True)
class States(Statement):
    """``state ...``."""

    items: tuple[StateItem, ...]


@dataclass(frozen=True)
class Equation(Statement):
    """``tie let start clamped energy force flow next readout cost metric``: ``word`` says which.

    ``term`` is the name of a force (``force TERM on LEFT = RIGHT``), else None.
    """

    word: str
    left: Left
    right: Expr
    term: Name | None = None


@dataclass(frozen=True)
class Function(Statement):
    """``fn NAME'[indices](arguments) = body``."""

    name: Name
    prime: bool
    indices: tuple[Name, ...] | None
    arguments: tuple[Name, ...]
    body: Expr


@dataclass(frozen=True)
class Layer(Statement):
    """``layer NAME { ... }``."""

    name: Name
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Repeat(Statement):
    """``repeat [l in] L { ... }``."""

    index: Name | None
    count: Name
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Settings(Statement):
    """``relax``, ``nudge`` or ``train``: ``word`` says which; ``index in dim`` numbers the steps of relax."""

    word: str
    index: Name | None
    dim: Name | None
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Preset(Statement):
    """``preset NAME { ... }``."""

    name: Name
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Spec(Tree):
    """A whole file; ``description`` is the comment above ``network``, without control characters."""

    name: Name
    description: str
    statements: tuple[Statement, ...]


# ------------------------------------------------------------------ traversal


def children(tree: Tree) -> Iterator[Tree]:
    """The trees directly inside a tree, in the order of its fields."""
    for name in tree.__dataclass_fields__:
        value = getattr(tree, name)
        yield from (child for child in (value if isinstance(value, tuple) else (value,)) if isinstance(child, Tree))


def walk(tree: Tree) -> Iterator[Tree]:
    """A tree and all trees inside it, each before those inside it, without recursion."""
    pending = [tree]
    while pending:
        tree = pending.pop()
        yield tree
        pending.extend(reversed(list(children(tree))))


def plain_name(expr: Expr) -> Name | None:
    """The name that an expression consists of, or None where it is more than a name."""
    plain = isinstance(expr, Apply) and not expr.prime and expr.slots is None and expr.arguments is None
    return expr.name if isinstance(expr, Apply) and plain else None


def chain(expr: Expr, ops: Container[str]) -> tuple[Expr, list[Binary]]:
    """The first operand of a left-leaning chain, and the operations on it in order, however many."""
    operations: list[Binary] = []
    while isinstance(expr, Binary) and expr.op in ops:
        operations.append(expr)
        expr = expr.left
    return expr, operations[::-1]


def operands(expr: Expr, ops: Container[str]) -> list[Expr]:
    """The operands of a left-leaning chain."""
    first, operations = chain(expr, ops)
    return [first, *(operation.right for operation in operations)]
