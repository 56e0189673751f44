"""Params that nothing trains, since they are read only where no derivative passes."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from energyc.language.network import Network, Param, Repeat
from energyc.language.resolve.reporter import Reporter, listed
from energyc.mathematics.calculus import is_cut, reached
from energyc.mathematics.ir import BatchStatistic, Node, walk


def check_trained(network: Network, reporter: Reporter) -> None:
    """Warn of each param that is read and whose gradient is zero whatever the cost, with what hides it."""
    nodes = {name: _nodes_of(param) for name, param in network.params.items()}
    trained = reached(_differentiated(network))
    for name, own in nodes.items():
        if not trained & own and any(_is_read(part, inner) for part, inner in _readers(network, own)):
            hidden = sorted({word for part, inner in _readers(network, own) for word in _hidden_in(part, inner)})
            why = f"it is read only in {listed(hidden)}" if hidden else "nothing that is differentiated depends on it"
            reporter.warn(
                "W0401",
                f"param `{name}` is never trained: {why}",
                network.params[name].span,
                "no derivative reaches it",
                help=f"read it elsewhere as well, or make `{name}` a const or a clamp",
            )


def _nodes_of(param: Param) -> set[Node]:
    return {node for node in (param.node, param.each) if node is not None}


def _differentiated(network: Network) -> Iterator[Node]:
    """The roots of derivatives: all that moves states and is read of them, but for metrics."""
    yield from (term.node for term in network.terms.values())
    yield from (state.start for state in network.states.values() if state.start is not None)
    yield from (quantity.node for quantity in network.readouts.values())
    if network.cost is not None:
        yield network.cost.node
    for layer in network.layers.values():
        trained = reached(_differentiated(layer.network))
        yield from (node for name, node in layer.clamps.items() if layer.network.clamps[name].node in trained)
        yield from (node for name, node in layer.params.items() if layer.network.params[name].node in trained)
    for block in network.blocks:
        if isinstance(block, Repeat):
            yield from (node for stream in block.streams.values() for node in (stream.start, stream.next))


def _readers(network: Network, nodes: set[Node]) -> Iterator[tuple[Network, set[Node]]]:
    """The network and its layers, each with what a param is there."""
    yield network, nodes
    for layer in network.layers.values():
        yield layer.network, {layer.network.params[name].node for name, node in layer.params.items() if node in nodes}


def _is_read(network: Network, nodes: Collection[Node]) -> bool:
    """Whether anything of a network depends on a node; of params that nothing reads another warning tells."""
    passed = {node for layer in network.layers.values() for node in layer.params.values()}
    passed -= {metric.node for metric in network.metrics.values()}
    return any(node in nodes for node in walk([root for root in network.roots if root not in passed]))


def _hidden_in(network: Network, nodes: Collection[Node]) -> Iterator[str]:
    """The words for what no derivative passes on its way to a node."""
    for cut in walk(network.roots):
        if is_cut(cut, "detach") and any(node in nodes for node in walk([cut])):
            yield f"{cut.kind}[batch](...)" if isinstance(cut, BatchStatistic) else "detach(...)"
