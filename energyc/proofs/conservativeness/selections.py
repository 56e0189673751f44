"""Whether an energy with selections by real values, or its slope, jumps where a condition changes sides."""

from __future__ import annotations

from collections.abc import Sequence

from energyc.language.network import ContinuityCondition, Network, RealSelection, Term
from energyc.mathematics.calculus import depends, derivative
from energyc.mathematics.ir import Map, Node, is_mask, walk
from energyc.proofs.conservativeness.certified import Symmetries
from energyc.proofs.fields.problem import ForceField

_UNNAMED = "a slope whose condition is on real values may jump"


def continuous_masks(kernel: Symmetries, energy: Node, field: ForceField) -> tuple[frozenset[Node], Sequence[str]]:
    """The masks of an energy at whose edges it is proved not to jump, and for each other condition a sentence."""
    masks = {node for node in walk([energy]) if is_mask(node)} & depends([energy], set(field.states))
    selections = kernel.network.real_selections if masks else ()
    concerned = [selection for selection in selections if selection.masks & masks]
    apart = [selection for selection in concerned if not is_continuous(selection, field, kernel)]
    jumping = frozenset(node for selection in apart for node in selection.masks)
    known = frozenset(node for selection in concerned for node in selection.masks) - jumping
    doubts = [
        f"the sides of where({selection.condition}, ...) are not known to meet where it changes" for selection in apart
    ]
    return known & masks, [*dict.fromkeys(doubts), *([_UNNAMED] if masks - known - jumping else [])]


def steady_masks(network: Network, field: ForceField) -> frozenset[Node]:
    """The masks at whose edges the whole force is proved not to jump.

    The sides of a selection meet there, and where it is in an energy their slopes do. Slopes by a let may jump where
    those by states do not.
    """
    steady, jumping, kernel = set[Node](), set[Node](), Symmetries.of(network)
    slopes = [slope for flow in network.flows.values() for slope in flow.slopes]
    by_lets = {name for slope in slopes if slope.by not in network.states for name in slope.energies}
    for term in network.terms.values() if network.real_selections else ():
        meets = is_smooth if term.name in network.energies else is_continuous
        masks = {node for node in walk([term.node]) if is_mask(node)}
        known = [selection for selection in network.real_selections if selection.masks & masks]
        steadily = [s for s in known if term.name not in by_lets and meets(s, field, kernel)]
        apart = masks.difference(*(s.masks for s in steadily)).union(*(s.masks for s in known if s not in steadily))
        steady |= masks - apart
        jumping |= apart | _masks_of_slopes(term, network, field)
    return frozenset(steady - jumping)


def _masks_of_slopes(term: Term, network: Network, field: ForceField) -> set[Node]:
    """The masks in the slopes of functions in an energy, and so in its force: nothing is known of their selections."""
    maps = [node for node in walk([term.node]) if isinstance(node, Map) and node.function.slope is not None]
    maps = maps if term.name in network.energies else []
    return {node for node in walk([derivative(field.graph, m.function, m.argument) for m in maps]) if is_mask(node)}


def is_continuous(selection: RealSelection, field: ForceField, kernel: Symmetries) -> bool:
    """Whether the two sides of a selection are proved to be equal wherever its condition changes."""
    return all(any(_holds(condition, field, kernel) for condition in edge) for edge in selection.edges)


def is_smooth(selection: RealSelection, field: ForceField, kernel: Symmetries) -> bool:
    """Whether the slopes of the two sides are proved to be equal there too."""
    edges = selection.slopes
    return edges is not None and all(any(_holds(condition, field, kernel) for condition in edge) for edge in edges)


def _holds(condition: ContinuityCondition, field: ForceField, kernel: Symmetries) -> bool:
    signs = field.signs
    return all(signs.positive(node) for node in condition.positive) and all(map(kernel.vanishes, condition.gaps))
