"""Loop nests as data: what one kernel computes, without the language it will be printed in.

A kernel works on a tile of samples. Its body is a list of blocks, a :class:`MatrixProduct` or a
:class:`Group` (statements that share their outer loops), over buffers that hold [tile, sizes] or, where they do not
differ from sample to sample, [sizes].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from energyc.mathematics.expressions import Expression, IndexValue, Where
from energyc.mathematics.ir import IndexExpr, Input, Node

#: What a kernel computes at a point: sums and products of entries, and calls and selections. A call is of an entry of
#: the table of functions; a condition is on labels, or a comparison.
Expr = Expression


@dataclass(eq=False)
class Buffer:
    """A tensor in memory: ``sizes`` without the sample, one copy a sample where ``batched``.

    ``kind`` tells where it lives: ``given`` by the caller, a ``state`` that moves from step to step, ``scratch`` of a
    tile, a ``row`` that lives during one turn of a group's outer loops, a ``value`` that lives at one point, a
    ``total`` over samples and steps; or it is the ``number`` of the step, of which the caller gives the first.
    ``integers`` is the integer input that it holds, None for real numbers.
    """

    name: str
    sizes: tuple[int, ...]
    batched: bool
    kind: Literal["given", "state", "scratch", "row", "value", "total", "number"] = "scratch"
    integers: Input | None = None

    @property
    def strides(self) -> tuple[int, ...]:
        """How far apart neighbours along each axis are."""
        return tuple(math.prod(self.sizes[k + 1 :]) for k in range(len(self.sizes)))

    @property
    def size(self) -> int:
        """The number of entries of one sample."""
        return math.prod(self.sizes)


# ------------------------------------------------------------------ expressions


@dataclass(frozen=True)
class Scalar(Expression):
    """A number that the caller gives at each call, as a step size."""

    name: str


@dataclass(frozen=True)
class Load(Expression):
    """An entry of a buffer; each coordinate is an index expression over the statement's labels."""

    buffer: Buffer
    place: tuple[IndexExpr, ...]


def loads(expr: Expr) -> Iterator[Load]:
    """The entries that an expression reads, those of integers inside its indices left out."""
    return (part for part in expr.walk() if isinstance(part, Load))


def indices(expr: Expr) -> Iterator[IndexExpr]:
    """The index expressions and conditions directly in an expression."""
    for part in expr.walk():
        match part:
            case Load(_, place):
                yield from place
            case Where(condition, _, _) if isinstance(condition, IndexExpr):
                yield condition
            case IndexValue(value):
                yield value


# ------------------------------------------------------------------ statements


@dataclass(frozen=True, eq=False)
class Statement:
    """``target[labels] = expr``, or the sum or largest of ``expr`` over the ``reduced`` labels.

    Labels are axes 0, 1, ... of its index expressions: first those of the target, then those that are reduced.
    ``label`` is what it computes, in the notation of the spec.
    """

    target: Buffer
    extents: tuple[int, ...]
    expr: Expr
    fold: Literal["", "sum", "max"] = ""
    label: str = ""

    @property
    def outer(self) -> tuple[int, ...]:
        """The sizes of the labels of the target."""
        return self.extents[: len(self.target.sizes)]

    @property
    def reduced(self) -> tuple[int, ...]:
        """The sizes of the labels that are reduced."""
        return self.extents[len(self.target.sizes) :]

    @property
    def reads(self) -> tuple[Buffer, ...]:
        """The buffers it needs, each once."""
        return tuple(dict.fromkeys(load.buffer for load in loads(self.expr)))


class Label(NamedTuple):
    """A label of a product: how many places it has, and how far it moves in each matrix and in the result."""

    size: int
    left: int
    right: int
    out: int


@dataclass(frozen=True)
class Run:
    """Labels of a product that go together: for each its size and how far it moves in a matrix."""

    sizes: tuple[int, ...] = ()
    left: tuple[int, ...] = ()
    right: tuple[int, ...] = ()
    out: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """The number of places they run over."""
        return math.prod(self.sizes)

    @property
    def labels(self) -> tuple[Label, ...]:
        """Those that have more than one place."""
        every = zip(self.sizes, self.left, self.right, self.out, strict=True)
        return tuple(Label(*label) for label in every if label[0] > 1)


@dataclass(frozen=True, eq=False)
class MatrixProduct:
    """``target (+)= factor * left @ right`` for each place of the ``outer`` labels.

    ``rows`` are labels of the left matrix, ``columns`` of the right one, next to each other in the target; both share
    ``inner``. ``left_at`` and ``right_at`` are where the matrices start. A label of ``outer`` may move either one.
    It is the sum of the products of the ``loads`` over all labels but the target's; ``extents`` are of all labels. One
    into a total is summed over the samples of the tile, too. One that is ``contrasted`` is of a force in two phases
    whose difference is the gradient. One that ``rounds`` takes operands in bfloat16 where the kernel is asked to.
    """

    target: Buffer
    left: Buffer
    right: Buffer
    factor: float
    rows: Run
    columns: Run
    inner: Run
    outer: Run
    left_at: int = 0
    right_at: int = 0
    adds: bool = False
    label: str = ""
    loads: tuple[Load, ...] = ()
    extents: tuple[int, ...] = ()
    contrasted: bool = False
    rounds: bool = False

    @property
    def reads(self) -> tuple[Buffer, ...]:
        """The buffers it needs."""
        return (self.left, self.right, *((self.target,) if self.adds else ()))

    @property
    def packed_once(self) -> bool:
        """Whether the right matrix is the same for all samples and steps, and is no operand of a sum over samples."""
        return self.right.kind == "given" and not self.right.batched and self.target.kind != "total"


@dataclass(frozen=True, eq=False)
class Scatter:
    """``target[place] += expr`` for each of the labels, or the largest; from 0, or -inf, a total from what it is.

    The first labels are axes of the target, the others those of an entry of an integer input that the place reads.
    """

    target: Buffer
    extents: tuple[int, ...]
    place: tuple[IndexExpr, ...]
    expr: Expr
    fold: Literal["sum", "max"]
    label: str = ""

    @property
    def reads(self) -> tuple[Buffer, ...]:
        """The buffers it needs, each once."""
        return tuple(dict.fromkeys(load.buffer for load in loads(self.expr)))


@dataclass(frozen=True, eq=False)
class Coupling:
    """Both products by one matrix between many entries of a sample and few others.

    ``spread`` is of the few: an entry of it is read where a group computes the same one of the many. ``gathered`` is of
    the many: its few results are read after that.
    """

    spread: MatrixProduct
    gathered: MatrixProduct


@dataclass(frozen=True, eq=False)
class Tile:
    """A product that a group makes, and how far each of the group's outer labels moves its matrices and its result."""

    product: MatrixProduct
    left: tuple[int, ...]
    right: tuple[int, ...]
    out: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Tiles:
    """The products that a group makes of many places at once: whose rows it ``reads``, and those ``of`` its own rows.

    Those ``within`` are both: of rows of some statements, for others. The right matrix of each is one for these places,
    so that the outer labels ``fixed``, and the sample where it is ``sampled``, are the same for all of them.
    """

    reads: tuple[Tile, ...] = ()
    within: tuple[Tile, ...] = ()
    of: tuple[Tile, ...] = ()

    @property
    def every(self) -> tuple[Tile, ...]:
        """All of them, those after the statements last."""
        return (*self.reads, *self.within, *self.of)

    @property
    def fixed(self) -> frozenset[int]:
        """The outer labels that move a right matrix."""
        return frozenset(k for tile in self.every for k, stride in enumerate(tile.right) if stride)

    @property
    def sampled(self) -> bool:
        """Whether each sample has a right matrix of its own."""
        return any(tile.product.right.batched for tile in self.every)


@dataclass(eq=False)
class Group:
    """Statements that run together at each place of the outer loops, which all have.

    Where it has a ``coupling``, both products are made along the first loop over its rows; where it has ``tiles``,
    these are made of the rows of many places.
    """

    outer: tuple[int, ...]
    batched: bool
    statements: list[Statement] = field(default_factory=list)
    coupling: Coupling | None = None
    tiles: Tiles = Tiles()

    @property
    def products(self) -> tuple[MatrixProduct, ...]:
        """The products that it makes."""
        pair = () if self.coupling is None else (self.coupling.spread, self.coupling.gathered)
        return (*pair, *(tile.product for tile in self.tiles.every))

    @property
    def steps(self) -> tuple[MatrixProduct | Statement, ...]:
        """Its products and its statements."""
        return (*self.products, *self.statements)

    @property
    def reads(self) -> tuple[Buffer, ...]:
        """The buffers that these need."""
        return tuple(dict.fromkeys(b for step in self.steps for b in step.reads))


Step = Statement | MatrixProduct | Scatter
Block = Group | MatrixProduct | Scatter
#: How a kernel walks: steps of a phase, those until each sample rests, those with all states kept, steps back through
#: these, or a step that is repeated until each sample is at its goal.
Walk = Literal["relax", "settle", "record", "go_back", "solve"]


def written(block: Block) -> tuple[Buffer, ...]:
    """The buffers that a block writes."""
    return tuple(step.target for step in block.steps) if isinstance(block, Group) else (block.target,)


def products_of(blocks: Iterable[Block]) -> Iterator[MatrixProduct]:
    """The products of blocks, those that groups make included."""
    for block in blocks:
        if isinstance(block, MatrixProduct):
            yield block
        elif isinstance(block, Group):
            yield from block.products


@dataclass(frozen=True, eq=False)
class Kernel:
    """Steps of a phase on a tile of samples.

    ``moves`` gives each state the buffer of its next value. ``given`` are the buffers that it reads of what the caller
    passes, ``scalars`` the numbers. ``passed`` is all that the caller passes, in order: the first ``shared`` of it to
    all kernels of the network. ``sizes`` are those of all dims; ``roots`` are roots of sizes by the names that
    factors are written with. ``before`` runs once, before the first step, and what it leaves stays. ``totals`` are
    added up over samples and steps, by param, each with the order in which the param's axes lie. ``recalled`` are
    those of ``given`` that are there for each step. One that is ``like`` another kernel has its steps, and walks
    otherwise.
    """

    name: str
    doc: str
    states: tuple[Buffer, ...]
    moves: tuple[Buffer, ...]
    given: tuple[tuple[Node, Buffer], ...]
    scalars: tuple[str, ...]
    body: tuple[Block, ...]
    sizes: Mapping[str, int]
    roots: Mapping[str, float] = field(default_factory=dict)
    before: tuple[Block, ...] = ()
    walk: Walk = "relax"
    totals: Mapping[str, tuple[Buffer, tuple[int, ...]]] = field(default_factory=dict)
    recalled: tuple[Buffer, ...] = ()
    like: str = ""
    passed: tuple[Node, ...] = ()
    shared: int = 0

    @property
    def places(self) -> dict[Buffer, int]:
        """The places of the given buffers in what the caller passes."""
        order = {node: place for place, node in enumerate(self.passed)}
        return {buffer: order.get(node, place) for place, (node, buffer) in enumerate(self.given)}

    @property
    def rounds(self) -> bool:
        """Whether a product in it takes rounded operands where the kernel is asked to."""
        return any(product.rounds for product in products_of((*self.before, *self.body)))

    @property
    def contrasts(self) -> bool:
        """Whether it moves phases whose difference is the gradient."""
        return any(product.contrasted for product in products_of(self.body))

    @property
    def number(self) -> int | None:
        """Which of the given buffers is the number of the step; None where no force reads it."""
        return next((k for k, (_, buffer) in enumerate(self.given) if buffer.kind == "number"), None)
