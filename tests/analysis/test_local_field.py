"""A force field near a point: each vector by itself, whatever is evaluated beside it."""

from __future__ import annotations

import numpy as np

from energyc.mathematics.ir.interpreter import evaluate
from energyc.proofs.fields.local_field import CHUNK, LocalField
from energyc.proofs.fields.problem import ForceField
from energyc.proofs.fields.sampling import draw
from tests.analysis.build import Build

SIZES = {"N": 3, "M": 2}


def on_a_mean() -> ForceField:
    """A force with a product of clamps and params, and a mean of the states over the batch."""
    b = Build({"n": "N", "m": "M"}, SIZES)
    z, x, weights = b.state("z", "n"), b.clamp("x", "m"), b.param("W", "mn")
    drive = b.es("mn,m->n", weights, x)
    mean = b.graph.batch_statistic(b.es("n,n->n", z, z), "mean")
    force = b.graph.plus(drive, b.es("n,n,n->n", z, mean, drive), b.graph.map("tanh", z))
    return ForceField(b.graph, (z,), {z: force}, SIZES, {})


def test_a_mean_over_the_batch_is_held_at_the_point() -> None:
    """A force is that of a batch of one at the point, with the mean there, and does not depend on its neighbours."""
    field, random = on_a_mean(), np.random.default_rng(0)
    around = LocalField(field, SIZES, draw(field, SIZES, random))
    vectors = random.standard_normal((CHUNK + 3, around.length))
    vectors[0] = around.start
    together = around.forces(vectors)
    alone = np.concatenate([around.forces(vector[None]) for vector in vectors])
    assert np.allclose(together, alone, rtol=1e-12, atol=0)
    point = {node.name: value[None] if node.batched else value for node, value in around.point.items()}
    assert np.allclose(together[:1], evaluate(field.roots, point, sizes=SIZES)[0], rtol=1e-12, atol=0)
    drive = point["x"][0] @ point["W"]
    assert np.allclose(together, drive + vectors * around.start**2 * drive + np.tanh(vectors), rtol=1e-12, atol=0)
