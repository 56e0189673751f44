"""Params whose gradient is identically zero: no derivative of the cost passes to them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from energyc.language.diagnostics import Diagnostic, listed
from energyc.language.network import Network, Param
from energyc.language.resolve.gradient_paths import GradientPaths
from energyc.language.resolve.reporter import Reporter
from energyc.mathematics.calculus import is_cut
from energyc.mathematics.expressions import ZERO
from energyc.mathematics.ir import ArgMax, BatchStatistic, Map, Node, walk

#: The rule that goes back through the steps to where states start, and the code of what it alone trains.
FROM_THE_START, BY_RULE = "bptt", "W0404"


def check_trained(network: Network, reporter: Reporter) -> None:
    """Warn of each param that is read and whose gradient by the spec's rule is identically zero."""
    for diagnostic in untrained_by(network, network.train.trained_by):
        reporter.add(diagnostic)


def untrained_by(network: Network, rule: str) -> Iterator[Diagnostic]:
    """A warning of each param that is read and whose gradient by a rule is zero, with what no derivative passes."""
    paths = GradientPaths(network, starts=True)
    trained = paths.trained()
    at_rest = trained if rule == FROM_THE_START else GradientPaths(network, starts=False).trained()
    for name, param in network.params.items():
        own = _nodes_of(param)
        if own & at_rest or not any(_is_read(part.network, inner) for part, inner in _with_layers(paths, own)):
            continue
        if own & trained:
            yield _of_start(name, param, [*_starts(paths, own)], rule)
        else:
            yield _never(name, param, sorted({*_hidden(paths, own)}))


def _never(name: str, param: Param, hidden: list[str]) -> Diagnostic:
    why = f"it is read only in {listed(hidden)}" if hidden else "nothing that is differentiated depends on it"
    remedy = f"read it elsewhere as well, or make `{name}` a const or a clamp"
    said = f"param `{name}` is never trained: {why}"
    return Diagnostic("W0401", said, param.span, "warning", "no derivative reaches it", help=remedy)


def _of_start(name: str, param: Param, starts: list[str], rule: str) -> Diagnostic:
    said = f"param `{name}` is not trained by {rule}: the cost depends on it only through the start of {listed(starts)}"
    remedy = f"train by {FROM_THE_START}, which goes back through all steps to the start, or read it in a term as well"
    return Diagnostic(BY_RULE, said, param.span, "warning", "its gradient at an equilibrium is zero", help=remedy)


def _nodes_of(param: Param) -> set[Node]:
    return {node for node in (param.node, param.each) if node is not None}


def _is_read(network: Network, nodes: Collection[Node]) -> bool:
    """Whether anything of a network depends on a node; of params that nothing reads another warning tells."""
    passed = {node for layer in network.layers.values() for node in layer.params.values()}
    passed -= {metric.node for metric in network.metrics.values()}
    return any(node in nodes for node in walk([root for root in network.roots if root not in passed]))


def _starts(paths: GradientPaths, nodes: set[Node]) -> Iterator[str]:
    """The states whose start reads a param."""
    for part, own in _with_layers(paths, nodes):
        starts = ((name, state.start) for name, state in part.network.states.items())
        yield from (f"`{name}`" for name, start in starts if start is not None and _reads(start, own))


def _hidden(paths: GradientPaths, nodes: set[Node]) -> Iterator[str]:
    """Words for where a param is read without a gradient: where no derivative passes, or what the cost does not see."""
    for part, own in _with_layers(paths, nodes):
        network = part.network
        alive = {name: state for name, state in network.states.items() if state.node in part.passed}
        starts = [state.start for state in alive.values() if state.start is not None]
        yield from _cuts(network, [*part.roots, *(part.forces[name] for name in alive), *starts], own)
        for name in network.states.keys() - alive.keys():
            if _reads(part.forces[name], own):
                yield f"the force on `{name}`, on which the cost does not depend"
        for name, readout in network.readouts.items():
            if _reads(readout.node, own) and readout.node not in {*walk(part.roots)}:
                yield f"the readout `{name}`, which the cost does not read"
        for name, term in network.energies.items():
            if _reads(term.node, own) and not any(_reads(force, own) for force in part.forces.values()):
                yield f"the energy `{name}`, whose slope by the states does not read it"


def _with_layers(paths: GradientPaths, nodes: set[Node]) -> Iterator[tuple[GradientPaths, set[Node]]]:
    """The paths of a network and of its layers, each with what a param is there."""
    yield paths, nodes
    for name, layer in paths.network.layers.items():
        inner: set[Node] = {layer.network.params[own].node for own, node in layer.params.items() if node in nodes}
        yield paths.inside[name], inner


def _reads(root: Node, nodes: Collection[Node]) -> bool:
    return any(node in nodes for node in walk([root]))


def _cuts(network: Network, roots: Collection[Node], nodes: Collection[Node]) -> Iterator[str]:
    """The words for what no derivative passes on its way to a node."""
    written = {*walk(network.roots)}
    for cut in walk(roots):
        if (word := _word_of(cut, cut in written)) and _reads(cut, nodes):
            yield word


def _word_of(node: Node, is_written: bool) -> str | None:
    """The word for a node whose derivative is zero, written in the spec or a slope; None of any other."""
    if is_cut(node, "detach"):
        return f"{node.kind}[batch](...)" if isinstance(node, BatchStatistic) else "detach(...)"
    if isinstance(node, ArgMax):
        return "the slope of a maximum"
    if not isinstance(node, Map) or node.function.slope is not None or node.function.entry.derivative != ZERO:
        return None
    entry = node.function.entry
    if not entry.derivative_of:
        return "a comparison"
    return f"{entry.name if entry.nameable and is_written else entry.text}(...)"
