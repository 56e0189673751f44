"""The graph, its interpreter, verifier and text form on random graphs, against torch doing each operation at once."""

from __future__ import annotations

import numpy as np
import pytest

from energyc.mathematics.ir import Node, walk
from energyc.mathematics.ir.flops import step_flops
from energyc.mathematics.ir.interpreter import evaluate
from energyc.mathematics.ir.text import format_graph
from tests.ir.random_graphs import CONSTS, SIZES, RandomGraph
from tests.ir.text_parser import parse_graph
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
def test_every_graph_is_legal_and_reads_back(seed: int) -> None:
    random = grown(seed)
    roots = everything(random)
    verify(roots.values())
    text = format_graph(roots)
    _, again = parse_graph(text)
    assert format_graph(again) == text
    verify(again.values())
    assert step_flops(list(walk(roots.values())), SIZES) == step_flops(list(walk(again.values())), SIZES)


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_graph_read_back_has_the_same_values(seed: int) -> None:
    random = grown(seed)
    _, again = parse_graph(format_graph(everything(random)))
    before = evaluate(list(random.values), random.arrays, sizes=SIZES, values=CONSTS)
    after = evaluate(list(again.values()), random.arrays, sizes=SIZES, values=CONSTS)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)
