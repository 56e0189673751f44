"""Forward and reverse mode on random graphs, against torch's autograd in float64, to the second order."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from energyc.mathematics.calculus import gradient, tangent
from energyc.mathematics.ir import ONE, Input, Node
from energyc.mathematics.ir.interpreter import evaluate
from tests.ir.random_graphs import BATCH, CONSTS, SIZES, RandomGraph
from tests.ir.verify import verify

SEEDS = range(60)


class Problem:
    """A scalar of a random graph, ``sum of <weight, node>`` over some of its nodes, in the graph and in torch."""

    def __init__(self, seed: int, *, frozen: bool = True) -> None:
        print("seed", seed)
        self.random = RandomGraph(seed, frozen=frozen)
        self.random.grow(40)
        self.graph = self.random.graph
        self.arrays = self.random.arrays
        nodes = list(self.random.values)
        chosen = [nodes[k] for k in self.random.random.permutation(len(nodes))[:6]]
        chosen += [node for node in nodes[-3:] if node not in chosen]
        self.scalar, self.expected = self.weighted({n: self.random.values[n] for n in chosen})

    def weight(self, node: Node, name: str, kind: str = "cotangent") -> Input:
        shape = [BATCH, *(SIZES[dim] for dim in node.dims)]
        self.arrays[name] = self.random.random.normal(size=shape)
        return self.graph.input(name, kind, node.dims)

    def weighted(self, values: dict[Node, torch.Tensor]) -> tuple[Node, torch.Tensor]:
        terms, total = [], torch.zeros(BATCH, dtype=torch.float64)
        for node, value in values.items():
            name = f"weight{len(self.arrays)}"
            product = self.graph.product(node, self.weight(node, name))
            terms.append((ONE, self.graph.sum(product, range(len(node.dims)))))
            total = total + (value * torch.tensor(self.arrays[name])).reshape(BATCH, -1).sum(1)
        return self.graph.add(terms, ()), total

    def arrays_of(self, nodes: list[Node]) -> list[np.ndarray]:
        verify(nodes)
        found = evaluate(nodes, self.arrays, sizes=SIZES, values=CONSTS)
        return [np.broadcast_to(a, [BATCH, *(SIZES[d] for d in n.dims)]) for n, a in zip(nodes, found, strict=True)]

    def gradients(self, scalar: Node, expected: torch.Tensor) -> tuple[dict[Node, Node], dict[Node, torch.Tensor]]:
        """By every leaf, in the graph (those it occurs in) and in torch."""
        leaves = self.random.leaves
        made = gradient(self.graph, scalar, leaves, frozen=self.random.frozen, strict=False)
        sources = [self.random.values[leaf] for leaf in leaves]
        if not expected.requires_grad:
            return made, {leaf: torch.zeros_like(self.random.values[leaf]) for leaf in leaves}
        given = torch.autograd.grad(
            expected.sum(), sources, create_graph=True, allow_unused=True, materialize_grads=True
        )
        return made, dict(zip(leaves, given, strict=True))

    def compare(self, made: dict[Node, Node], given: dict[Node, torch.Tensor]) -> None:
        arrays = dict(zip(made, self.arrays_of(list(made.values())), strict=True))
        for leaf, value in given.items():
            expected = value.numpy(force=True)
            scale = 1.0 + np.abs(expected).max()
            array = arrays.get(leaf, np.zeros_like(expected))
            np.testing.assert_allclose(array / scale, expected / scale, rtol=0, atol=1e-9, err_msg=repr(leaf))


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_gradients_equal_those_of_autograd(seed: int, frozen: bool) -> None:
    problem = Problem(seed, frozen=frozen)
    problem.compare(*problem.gradients(problem.scalar, problem.expected))


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("seed", SEEDS)
def test_second_gradients_equal_those_of_autograd(seed: int) -> None:
    problem = Problem(seed)
    made, given = problem.gradients(problem.scalar, problem.expected)
    values = {made[leaf]: value for leaf, value in given.items() if leaf in made}
    scalar, expected = problem.weighted(values)
    problem.compare(*problem.gradients(scalar, expected))


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("seed", SEEDS)
def test_forward_mode_is_the_transpose_of_reverse_mode(seed: int) -> None:
    problem = Problem(seed)
    made, _ = problem.gradients(problem.scalar, problem.expected)
    directions = {leaf: problem.weight(leaf, f"direction_{leaf.name}", "direction") for leaf in problem.random.leaves}
    moved = tangent(problem.graph, [problem.scalar], directions)
    forward = problem.arrays_of(moved)[0]
    backward = np.zeros(BATCH)
    for leaf, array in zip(made, problem.arrays_of(list(made.values())), strict=True):
        backward = backward + (array * problem.arrays[directions[leaf].name]).reshape(BATCH, -1).sum(1)
    np.testing.assert_allclose(forward, backward, rtol=1e-9, atol=1e-9 * (1 + np.abs(backward).max()))
