"""Zeros of the arguments of functions: those that are touched are found, where that is not too much work."""

from __future__ import annotations

import numpy as np
import pytest

from energyc.mathematics.ir import Node
from energyc.proofs.fields.local_field import LocalField
from energyc.proofs.fields.problem import ForceField
from energyc.proofs.fields.sampling import Array, draw
from energyc.proofs.fields.singular import signed_points, zeros
from energyc.proofs.fields.sizes import WORK
from tests.analysis.build import Build


def touching_zero(size: int) -> tuple[LocalField, Node]:
    """A force that reads ``z[n]^2``, and this argument, at a point."""
    sizes = {"N": size}
    b = Build({"n": "N"}, sizes)
    z = b.state("z", "n")
    square = b.es("n,n->n", z, z)
    field = ForceField(b.graph, (z,), {z: b.graph.map("sqrt", square)}, sizes, {})
    return LocalField(field, sizes, draw(field, sizes, np.random.default_rng(0))), square


def test_a_zero_without_a_change_of_sign_is_found() -> None:
    around, square = touching_zero(3)
    found = zeros(around, square, np.random.default_rng(1))
    assert found and all(np.min(np.abs(vector)) < 1e-4 for vector in found)


@pytest.mark.parametrize("size", [300, 4096])
def test_looking_for_zeros_is_bounded_work(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Newton's method differs along each entry: at 4096 entries it took minutes of a check."""
    numbers = 0
    values = LocalField.values

    def counted(self: LocalField, nodes: list[Node], vectors: Array) -> list[Array]:
        nonlocal numbers
        numbers += vectors.size
        return values(self, nodes, vectors)

    monkeypatch.setattr(LocalField, "values", counted)
    around, square = touching_zero(size)
    zeros(around, square, np.random.default_rng(1))
    signed_points(around, [square], np.random.default_rng(2))
    assert numbers <= 4 * WORK
