"""Each kind of node in each pass: there is a rule for it, or the pass says that there is none, by the kind's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from energyc.code.module.symbols import Symbols
from energyc.code.targets.torch.nodes import TorchWriter
from energyc.code.tree.expressions import Name
from energyc.code.tree.extents import Extent
from energyc.derivation.notation import Notation
from energyc.mathematics.calculus.adjoint import node_adjoint
from energyc.mathematics.calculus.substitute import rebuilt
from energyc.mathematics.calculus.tangent import node_tangent
from energyc.mathematics.ir import ONE, Facts, Graph, Input, Node, NoRule, walk
from energyc.mathematics.ir.indexing import axis, equal
from energyc.mathematics.ir.interpreter import evaluate
from energyc.mathematics.ir.text import format_graph
from energyc.proofs.enclosures.exact import Evaluation, Intervals
from tests.ir.verify import verify

SIZES = {"N": 3}
POINT = np.array([[0.3, -1.2, 2.0]])
GRAPH = Graph()
Z = GRAPH.input("z", "state", ("N",))
V = GRAPH.input("v", "direction", ("N",))


@dataclass(frozen=True, eq=False, repr=False)
class Unheard(Node):
    """A kind that no pass knows."""

    facts = Facts()

    argument: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.argument,)


def samples() -> Iterator[Node]:
    """A node of every kind over z."""
    both = GRAPH.einsum(ONE, [(Z, (0,)), (Z, (0,))], {0: "N"}, (0,))
    yield from (
        Z,
        both,
        GRAPH.plus(Z, both),
        GRAPH.map("tanh", Z),
        GRAPH.stop(Z, "frozen"),
        GRAPH.batch_statistic(Z, "median"),
    )
    yield from (GRAPH.softmax(Z, (0,)), GRAPH.argmax(Z, (0,)), GRAPH.logsumexp(Z, (0,)), GRAPH.max(Z, (0,)))
    yield from (GRAPH.indicator(("N", "N"), equal(axis(0), axis(1))), GRAPH.position(("N",), axis(0)))


SAMPLES = {type(node): node for node in samples()}


def kinds(base: type[Node] = Node) -> set[type[Node]]:
    """The kinds of nodes of the graph; those that the planner adds are its own and the writer's affair."""
    found = {kind for sub in base.__subclasses__() for kind in {sub} | kinds(sub)}
    return {kind for kind in found if "facts" in vars(kind) and kind.__module__.startswith("energyc.mathematics.ir")}


def numbered(node: Node) -> None:
    verify([node])


def interpreted(node: Node) -> None:
    evaluate([node], {"z": POINT}, sizes=SIZES)


def as_text(node: Node) -> None:
    format_graph({"root": node})


def forwards(node: Node) -> None:
    node_tangent(node, GRAPH, {Z: V})


def backwards(node: Node) -> None:
    list(node_adjoint(node, GRAPH, GRAPH.input("bar", "cotangent", node.dims), {Z}))


def substituted(node: Node) -> None:
    rebuilt(GRAPH, node, {child: V if child is Z else child for child in walk([node])})


def as_formula(node: Node) -> None:
    Notation({}).text(node)


def as_torch(node: Node) -> None:
    sizes = {dim: Extent(size, ((dim, size),)) for dim, size in SIZES.items()}
    writer = TorchWriter(Symbols(sizes, {}), {})
    with writer.scope({Z: Name("z")}):
        writer.code(node)


def enclosed(node: Node) -> None:
    Evaluation(GRAPH, Intervals({}, {}), SIZES, {Z: POINT[0]})(node)


#: Passes, and the kinds that they never meet: no derivative passes what is not a function of a tensor of reals.
LEAVES = {"Input", "Indicator", "Position"}
PASSES: dict[Callable[[Node], None], set[str]] = {
    numbered: set(),
    interpreted: set(),
    as_text: set(),
    forwards: LEAVES,
    backwards: LEAVES,
    substituted: set(),
    as_formula: set(),
    enclosed: set(),
}


def test_there_is_a_sample_of_every_kind() -> None:
    assert set(SAMPLES) == kinds()


@pytest.mark.parametrize("kind", SAMPLES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("task", PASSES, ids=lambda task: task.__name__)
def test_every_pass_has_a_rule_for_every_kind(task: Callable[[Node], None], kind: type[Node]) -> None:
    if kind.__name__ in PASSES[task]:
        with pytest.raises(NoRule, match=kind.__name__):
            task(SAMPLES[kind])
    else:
        task(SAMPLES[kind])


@pytest.mark.parametrize("task", PASSES, ids=lambda task: task.__name__)
def test_every_pass_names_a_kind_that_it_does_not_know(task: Callable[[Node], None]) -> None:
    with pytest.raises(NotImplementedError, match="no rule for a node of kind Unheard"):
        task(GRAPH.share(Unheard, ("N",), True, Z))


def test_a_kind_without_facts_is_refused_when_its_class_is_made() -> None:
    with pytest.raises(NotImplementedError, match="Silent states no facts"):
        type("Silent", (Node,), {})


def test_an_input_is_a_leaf() -> None:
    assert isinstance(Z, Input) and Z.children == ()
