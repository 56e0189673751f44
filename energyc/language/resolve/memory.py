"""How much memory a network needs, estimated before anything is allocated."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from energyc.language.diagnostics import Span, listed
from energyc.language.network import Network
from energyc.language.resolve.context import Context
from energyc.mathematics.ir import Indicator, Input, Node, Position, walk
from energyc.mathematics.sparse import compressed

GIBIBYTE = 2**30
BUDGET = 64 * GIBIBYTE
BYTES = 4
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def estimate(network: Network) -> int:
    """Bytes in float32 of the params, the states and the largest quantity between them, for one sample."""
    sizes = network.extents
    stored = [param.node for param in network.params.values()] + [state.node for state in network.states.values()]
    return BYTES * (
        sum(_entries(node, sizes) for node in stored) + max((_entries(n, sizes) for n in _computed(network)), default=0)
    )


def check_memory(context: Context, network: Network, budget: int = BUDGET) -> None:
    """Report a network that needs more than the budget, with the figure and its largest tensor."""
    needed = estimate(network)
    if needed <= budget:
        return
    largest, span = _largest(context, network)
    dims = [f"{dim} = {network.extents[dim]}" for dim in dict.fromkeys(largest.dims)]
    size = in_units(BYTES * _entries(largest, network.extents))
    context.reporter.error(
        "E0801",
        f"this network needs about {in_units(needed)} of memory, and the limit is {in_units(budget)}",
        span,
        f"this alone is {size}",
        help=f"make {listed(dims)} smaller",
    )


def _roots(network: Network) -> list[tuple[Node, Span]]:
    """The memory that an equation needs, and the equation."""
    asked = [*network.readouts.values(), *network.metrics.values(), *([network.cost] if network.cost else [])]
    starts = [(state.start, state.span) for state in network.states.values() if state.start is not None]
    terms = [(term.node, term.tree.left.span) for term in network.terms.values()]
    starts += [(state.clamped, state.span) for state in network.states.values() if state.clamped is not None]
    return [*starts, *((quantity.node, quantity.tree.left.span) for quantity in asked), *terms]


def _compact(network: Network) -> list[Node]:
    """The roots as they are computed: what a guard over edges lets through is kept by the edges alone."""
    return compressed(network.graph, [node for node, _ in _roots(network)], network.extents).roots


def _computed(network: Network) -> list[Node]:
    """Every tensor that is computed; indicators and positions are not stored."""
    return [node for node in walk(_compact(network)) if not isinstance(node, Indicator | Position | Input)]


def _entries(node: Node, sizes: Mapping[str, int]) -> int:
    return prod(sizes[dim] for dim in node.dims)


def _largest(context: Context, network: Network) -> tuple[Node, Span]:
    """The largest tensor that has a name, or the largest of all, with the place of its name."""
    computed = _computed(network)
    named: dict[Node, Span] = {param.node: param.span for param in network.params.values()}
    named |= {state.node: state.span for state in network.states.values()}
    quantities = [q for q in (*network.lets.values(), *network.readouts.values()) if q.node in computed]
    named |= {q.node: q.tree.left.span for q in quantities}
    named |= {t.family: t.tree.left.span for t in network.terms.values() if t.family in computed}
    unnamed = max(computed, key=lambda node: _entries(node, network.extents))
    largest = max(named, key=lambda node: _entries(node, network.extents))
    if _entries(unnamed, network.extents) > _entries(largest, network.extents):
        return unnamed, _owner(network, unnamed)
    return largest, named[largest]


def _owner(network: Network, node: Node) -> Span:
    """The equation that computes a tensor without a name: a let, or what asks for it."""
    for quantity in network.lets.values():
        if node in walk([quantity.node]):
            return quantity.tree.left.span
    spans = (span for _, span in _roots(network))
    return next(span for root, span in zip(_compact(network), spans, strict=True) if node in walk([root]))


def in_units(count: int) -> str:
    """``3.2 GiB``."""
    value, unit = float(count), 0
    while value >= 1024 and unit < len(UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.3g} {UNITS[unit]}"
