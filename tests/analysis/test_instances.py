"""Sizes of witnesses are sizes that specs can have, and looking for them takes no time."""

from __future__ import annotations

import time

import pytest

import energyc
from energyc import pipeline
from energyc.language.resolve.resize import Resizing
from energyc.proofs.conservativeness.forces import field_from, force_of
from energyc.proofs.fields.instances import instance
from energyc.proofs.fields.problem import linearise
from energyc.proofs.fields.sizes import small_sizes


def spec(dims: str, force: str, shape: str) -> str:
    return f"""network sized
dim {dims}
param W[{shape}] ~ normal(1)
state z[{shape.split(",")[0]}]
force f on {force}
readout out[i] = z[i]
cost c = sum[i](z[i]^2)
"""


def found(text: str) -> tuple[dict[str, int], dict[str, int]]:
    """The small sizes of a spec's one force, and those that the spec can have."""
    network = pipeline.resolve(pipeline.read(text))
    field = field_from(network)
    field = field.with_force(force_of(network, network.terms["f"], field))
    moved = linearise(field).moved
    small = small_sizes(moved, field.sizes)
    return small, instance(field, moved, small)


PLAIN = "z[i] = sum[j](W[i,j]) * sum[k](z[k]^2)"


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        ("N = 20, M = 30", {"N": 3, "M": 3}),
        ("N = 20, M = 2 * N", {"N": 3, "M": 6}),
        ("M = 5, N = 4 * M", {"M": 3, "N": 12}),
        ("H = 4, N = 40, M = N / H", {"H": 1, "N": 3, "M": 3}),
        ("S = 21, N = 40, M = N - 2 * S + 10", {"S": 3, "N": 3, "M": 7}),
        ("N = 1000, M = N - 997", {"N": 1000, "M": 3}),
        ("N = 2, M = 3 * N", {"N": 2, "M": 6}),
    ],
)
def test_sizes_follow_the_formulas(dims: str, expected: dict[str, int]) -> None:
    assert found(spec(dims, PLAIN, "N, M"))[1] == expected


def test_where_no_sizes_are_found_there_is_nothing_to_load() -> None:
    text = spec("P = 40, Q = 41, R = 43, N = 44, M = P * Q * R * N - 3102780", PLAIN, "N, M")
    start = time.process_time()
    small, sizes = found(text)
    assert time.process_time() - start < 5
    assert small == sizes and sizes["N"] == sizes["M"] == 3
    witness = energyc.check(text).to_json()["terms"][0]["witness"]
    assert witness["load"] is None and witness["certified"] and witness["sizes"] == {"N": 3, "M": 3}


def test_what_was_set_is_what_the_formulas_start_from() -> None:
    network = pipeline.resolve(pipeline.read(spec("N = 20, M = 2 * N", PLAIN, "N, M")))
    resize = Resizing(network)
    assert resize.free == ("N",) and resize.behind == {"M": {"N"}}
    assert resize({"N": 7}) == {"N": 7, "M": 14}
    odd = Resizing(pipeline.resolve(pipeline.read(spec("N = 20, M = N / 2", PLAIN, "N, M"))))
    assert odd({"N": 8}) == {"N": 8, "M": 4} and odd({"N": 7}) is None
