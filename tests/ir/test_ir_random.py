"""The graph, its interpreter, verifier and text form on random graphs, against torch doing each operation at once."""

from __future__ import annotations

import numpy as np
import pytest

from energyc.mathematics.ir import Node
from energyc.mathematics.ir.interpreter import evaluate
from tests.ir.random_graphs import CONSTS, SIZES, RandomGraph
from tests.ir.verify import verify

SEEDS = range(60)


def grown(seed: int) -> RandomGraph:
    print("seed", seed)
    random = RandomGraph(seed)
    random.grow(60)
    return random


def everything(random: RandomGraph) -> dict[str, Node]:
    return {f"root{k}": node for k, node in enumerate(random.values)}


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("seed", SEEDS)
def test_values_equal_those_of_torch(seed: int) -> None:
    random = grown(seed)
    arrays = evaluate(list(random.values), random.arrays, sizes=SIZES, values=CONSTS)
    for (node, value), array in zip(random.values.items(), arrays, strict=True):
        expected = value.detach().numpy()
        assert array.shape == (expected.shape if node.batched else expected.shape[1:])
        np.testing.assert_allclose(np.broadcast_to(array, expected.shape), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_graph_is_legal(seed: int) -> None:
    verify(everything(grown(seed)).values())
