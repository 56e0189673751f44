"""What is around layers: ``blocks``, in which each of them is visited, and copies are gone through by ``lax.scan``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from energyc.code.plan import PlannedRoutine
from energyc.code.targets.arrays.blocks import BlocksWriter
from energyc.code.targets.arrays.code import Code, tree
from energyc.code.targets.arrays.methods import docstring
from energyc.code.targets.arrays.nodes import ArrayWriter
from energyc.code.targets.arrays.pure import FunctionWriter
from energyc.code.tree import facts
from energyc.code.tree.expressions import Attribute, Constant, Expr, List, Name, Tuple, call
from energyc.code.tree.node import Node as Tree
from energyc.code.tree.quotation import quote
from energyc.code.tree.statements import Assign, Body, Function, Parameter, Return
from energyc.language.network import Layer, Network, Param, Repeat
from energyc.mathematics.ir import Node

_DOC = "The layers in a row, each by a ``visit``: what the answers read, and where each ended."
_ARGUMENTS = {"params": "Params", "clamps": "Clamps", "visit": "ej.Visit"}
_Tree = TypeVar("_Tree", bound=Tree)


@dataclass(frozen=True)
class LayerNames:
    """The model of a layer, its records by what they are, and its noises among all clamps."""

    own: str
    records: Mapping[str, str]
    noises: Sequence[str]


def blocks_function(
    network: Network,
    functions: FunctionWriter,
    writer: ArrayWriter,
    routine: PlannedRoutine,
    layers: Mapping[str, LayerNames],
) -> Function:
    """The function."""
    blocks = _Blocks(network, functions.context, writer, routine)
    blocks.layers = layers
    own, masks = functions.own_names()
    body, values = blocks.written({**own, **functions.context.names_in_fixed()}, masks)
    returned = Tuple((call("Values", *values), List(tuple(blocks.ends))), bare=True)
    return Function(
        "blocks",
        tuple(Parameter(n, quote(t)) for n, t in _ARGUMENTS.items()),
        facts.live([*body, Return(returned)]),
        quote("tuple[Values, list[ej.Relaxed]]"),
        docstring(_DOC, blocks.formulas()),
    )


class _Blocks(BlocksWriter):
    """Writes ``blocks``; ``ends`` are where the layers of the scope that is being written ended."""

    layers: Mapping[str, LayerNames]

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.ends: list[Expr] = []
        self.noises: dict[str, Expr] = {}  #: What a copy calls its part of them, by their fields.

    def visited(self, layer: Layer, names: Sequence[Expr], clamps: Sequence[Code], params: Sequence[Code]) -> Body:
        """A call of ``visit``."""
        end = Name(self.identifiers.new(f"{layer.name}_end"))
        self.ends.append(end)
        names_of = self.layers[layer.name]
        noises = [self.noises.get(field, Attribute(Name("clamps"), field)) for field in names_of.noises]
        held = call(names_of.records["Params"], *(code.expr for code in params))
        given = call(names_of.records["Clamps"], *(code.expr for code in clamps), *noises)
        target = Tuple((Tuple(tuple(names)), end), bare=True)
        return (Assign(target, call("visit", Name(names_of.own), held, given)),)

    def copies(self, block: Repeat, streams: Sequence[Expr], params: Mapping[str, Param]) -> Body:
        """A scan over the params that each copy has for itself."""
        before, self.ends = self.ends, []
        fields = self.context.params
        names = {name: Name(self.identifiers.new(fields[name])) for name in params}
        noises = [field for layer in block.layers for field in self.layers[layer.name].noises]
        self.noises = {field: Name(self.identifiers.new(field)) for field in noises}
        slices: dict[Node, Expr] = {p.each: names[n] for n, p in params.items() if p.each is not None}
        inside = self.inside(block, streams, slices)
        ends, self.ends = self.ends, [*before, *(call("ej.copied", end) for end in self.ends)]
        carry = streams[0] if len(streams) == 1 else Tuple(tuple(streams))
        copy, moving = Name(self.identifiers.new("copy")), Name(self.identifiers.new("streams"))
        first = () if len(streams) == 1 else (Assign(Tuple(tuple(streams), bare=True), moving),)
        parts = (*names.values(), *self.noises.values())
        taken = (Assign(Tuple(parts, bare=len(parts) > 1), Name("own")),) if parts else ()
        returned = Return(Tuple((carry, Tuple(tuple(ends))), bare=True))
        own: tuple[Expr, ...] = tuple(Attribute(Name("params"), fields[name]) for name in params)
        own += tuple(call("ej.by_copy", Attribute(Name("clamps"), field)) for field in noises)
        size = tree(self.context.sizes[block.dim])
        rows = (Tuple(own),) if own else (Constant(None), size)
        given = Parameter(streams[0].id if len(streams) == 1 and isinstance(streams[0], Name) else moving.id)
        function = Function(copy.id, (given, Parameter("own")), facts.live([*first, *taken, *inside, returned]))
        scanned = Assign(Tuple((carry, Tuple(tuple(ends))), bare=True), call("lax.scan", copy, carry, *rows))
        return (function, scanned)


def renamed(node: _Tree, names: Mapping[str, Expr], parameters: Mapping[str, str] = {}) -> _Tree:
    """The same with other names, and with other names of parameters."""

    def one(part: Tree) -> Tree:
        match part:
            case Name(name) if name in names:
                return names[name]
            case Parameter(name) if name in parameters:
                changed = part.mapped(one)
                return Parameter(parameters[name], changed.type, changed.default)
        return part.mapped(one)

    made = one(node)
    assert isinstance(made, type(node))
    return made
