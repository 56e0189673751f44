"""Nodes of a plan as formulas in the notation of the spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from energyc.code.module.context import Context
from energyc.derivation.notation import Notation, at, left_side, text
from energyc.derivation.notation import name as index
from energyc.mathematics.ir import Input, Node, walk
from energyc.mathematics.sparse import Segment

#: A formula of more nodes than this is written with names for its pieces.
LONG = 100


def formulas(context: Context, roots: Iterable[Node]) -> Callable[[Node], str]:
    """Writes nodes below the roots: a named one as its definition, others as what they are, down to what has a name.

    The pieces of long ones have names too, the same below all roots; each is defined beside the formula that reads it.
    """
    roots = list(roots)
    names = {**context.fields, **context.plan.names}
    called = dict[Node, str]()
    for node in walk(roots):
        if isinstance(node, Segment):
            called[node] = names.get(node, node.kind.operator)
        elif node in names and not isinstance(node, Input):
            called[node] = names[node]
    named = {node: (name, context.notation.indices(node)) for node, name in called.items()}
    notation = context.notation.naming(named) if named else context.notation

    common = cache(lambda: notation.sharing(roots))

    def formula(node: Node) -> str:
        chosen = common() if notation.is_long(node, LONG) else notation
        right = segment_text(chosen, node) if isinstance(node, Segment) else text.write(chosen.formula(node))
        pieces = [f"{piece.left} = {piece.text}" for piece in chosen.direct_definitions(node)]
        if pieces:
            right = f"{right}, where {', '.join(pieces)}"
        name = context.plan.names.get(node)
        return f"{left_side(name, notation.indices(node))} = {right}" if name else right

    return formula


def segment_text(notation: Notation, node: Segment) -> str:
    """``logsumexp[e by dst[e]](t7[h,e])``: the reduction of each segment of e."""
    indices = notation.indices(node.argument)
    places = dict(enumerate(map(index, indices)))
    place = text.index(at(node.place, places))
    if node.guard is not None:
        guarded = {k: places[axis] for k, axis in enumerate(node.guard.axes)}
        place += f" | {text.index(at(node.guard.indicator.condition, guarded))}"
    argument = notation.reference(node.argument) if node.argument in notation.names else notation.text(node.argument)
    return f"{node.kind.operator}[{','.join(indices[-node.count :])} by {place}]({argument})"
