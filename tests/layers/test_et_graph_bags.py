"""The graph classifier of the benchmarks, on disjoint unions, beside the shipped one on padded graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import energyc
from energyc.running.data import find_adapter

ROOT = Path(__file__).parents[2]
WIDTH = {"F": 3, "D": 6, "H": 2, "Y": 3, "K": 5}
DATA = {"inputs": 3, "eigenvectors": 4}
GRAPHS, TOKENS, EDGES = 5, 70, 300


def tensors(batch: dict[str, np.ndarray]) -> dict[str, Tensor]:
    return {n: torch.from_numpy(v).double() if v.dtype.kind == "f" else torch.from_numpy(v) for n, v in batch.items()}


@pytest.mark.slow
def test_a_graph_has_the_same_logits_in_a_union_as_alone() -> None:
    """The biases are zero, so that padding, which the window of the last node reaches, is zero in both."""
    padded = energyc.load(ROOT / "specs/et_graph.energy", dims={**WIDTH, "M": 16, "E": 4}, dtype=torch.float64)
    sizes = {"G": GRAPHS, "N": TOKENS, "E": EDGES, "V": 4, "Z": 2}
    joined = energyc.load(ROOT / "benchmarks/et_graph_bags.energy", dims={**WIDTH, **sizes}, dtype=torch.float64)
    random = torch.Generator().manual_seed(3)
    for name, param in padded.params.items():
        biased = name in ("b_in", "b_pos")
        drawn = torch.randn(param.shape, generator=random, dtype=torch.float64)
        param.data.copy_(torch.zeros_like(param) if biased else param.detach() + drawn / 2)
        joined.params[name].data.copy_(param.detach())
    alone = find_adapter("graph_classes").open({"nodes": 16, **DATA}, None).split("train")
    bags = find_adapter("graph_bags").open({"graphs": GRAPHS, "nodes": TOKENS, "edges": EDGES, **DATA}, None)
    one = tensors(alone.batch(np.arange(len(alone))))
    several = tensors(bags.split("train").batch(np.arange(4)))
    single = {"feature": one["features"], "adj": one["adjacency"], "eig": one["eigenvectors"]}
    together = {"feature": several["features"], "src": several["sources"], "dst": several["targets"]}
    together |= {"graph": several["graph"], "cls": several["cls"], "eig": several["eigenvectors"]}
    with torch.no_grad():
        expected = padded.eval()(single, rule="bptt")["logits"]
        found = joined.eval()(together, rule="bptt")["logits"]
    assert float(expected.std(0).min()) > 1e-3
    for bag, number in several["present"].nonzero().tolist():
        features = several["features"][bag][several["graph"][bag] == number][1:]
        (same,) = (k for k in range(len(alone)) if torch.equal(one["features"][k, : len(features)], features))
        torch.testing.assert_close(found[bag, number], expected[same], rtol=0, atol=1e-12)
