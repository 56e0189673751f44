"""What is around layers: ``blocks``, in which each of them is visited, and copies are gone through by ``lax.scan``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from energyc.code.plan import PlannedRoutine
from energyc.code.targets.arrays.blocks import BlocksWriter
from energyc.code.targets.arrays.code import Code, tree
from energyc.code.targets.arrays.methods import docstring
from energyc.code.targets.arrays.nodes import ArrayWriter
from energyc.code.targets.jax.equations import FunctionWriter
from energyc.code.tree import facts
from energyc.code.tree.expressions import Attribute, Constant, Expr, List, Name, Tuple, call
from energyc.code.tree.node import Node as Tree
from energyc.code.tree.quotation import quote
from energyc.code.tree.statements import Assign, Body, Function, Parameter, Return
from energyc.language.network import Layer, Network, Param, Repeat
from energyc.mathematics.ir import Node

#: The class of a layer, and the names of its records by what they are.
Records = tuple[str, Mapping[str, str]]
_DOC = "The layers in a row, each by a ``visit``: what the answers read, and where each ended."
_Tree = TypeVar("_Tree", bound=Tree)


def blocks_function(
    network: Network,
    functions: FunctionWriter,
    writer: ArrayWriter,
    routine: PlannedRoutine,
    records: Mapping[str, Records],
) -> Function:
    """The function; ``records`` are those of each layer."""
    blocks = _Blocks(network, functions.context, writer, routine)
    blocks.records = records
    own, masks = functions.own_names()
    body, values = blocks.written({**own, **functions.context.names_in_fixed()}, masks)
    returned = Tuple((call("Values", *values), List(tuple(blocks.ends))), bare=True)
    return Function(
        "blocks",
        tuple(Parameter(n, Name(t)) for n, t in (("params", "Params"), ("clamps", "Clamps"), ("visit", "Visit"))),
        facts.live([*body, Return(returned)]),
        quote("tuple[Values, list[Relaxed]]"),
        docstring(_DOC, blocks.formulas()),
    )


class _Blocks(BlocksWriter):
    """Writes ``blocks``; ``ends`` are where the layers of the scope that is being written ended."""

    records: Mapping[str, Records]

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.ends: list[Expr] = []

    def visited(self, layer: Layer, names: Sequence[Expr], clamps: Sequence[Code], params: Sequence[Code]) -> Body:
        """A call of ``visit``."""
        end = Name(self.identifiers.new(f"{layer.name}_end"))
        self.ends.append(end)
        own, records = self.records[layer.name]
        held = call(records["Params"], *(code.expr for code in params))
        given = call(records["Clamps"], *(code.expr for code in clamps))
        target = Tuple((Tuple(tuple(names)), end), bare=True)
        return (Assign(target, call("visit", call(own), held, given)),)

    def copies(self, block: Repeat, streams: Sequence[Expr], params: Mapping[str, Param]) -> Body:
        """A scan over the params that each copy has for itself."""
        before, self.ends = self.ends, []
        fields = self.context.params
        names = {name: Name(self.identifiers.new(fields[name])) for name in params}
        slices: dict[Node, Expr] = {p.each: names[n] for n, p in params.items() if p.each is not None}
        inside = self.inside(block, streams, slices)
        ends, self.ends = self.ends, [*before, *(call("copied", end) for end in self.ends)]
        carry = streams[0] if len(streams) == 1 else Tuple(tuple(streams))
        copy, moving = Name(self.identifiers.new("copy")), Name(self.identifiers.new("streams"))
        first = () if len(streams) == 1 else (Assign(Tuple(tuple(streams), bare=True), moving),)
        taken = (Assign(Tuple(tuple(names.values()), bare=len(names) > 1), Name("own")),) if names else ()
        returned = Return(Tuple((carry, Tuple(tuple(ends))), bare=True))
        own = tuple(Attribute(Name("params"), fields[name]) for name in params)
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
