"""A pass changes no result: every shipped spec with each pass switched off, against all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
import torch

from energyc.code.plan import Passes
from tests.emit.judge import TOLERANCE, Judged, disagreements, distance, judged, resolved, routines
from tests.independent import Network
from tests.specs.judging import SHIPPED, SPECS, named

SWITCHES = [field.name for field in fields(Passes)]
ALL = Passes(**dict.fromkeys(SWITCHES, True))


@cache
def under(net: Network, passes: Passes) -> Judged:
    network = resolved(SPECS / f"{net.name}.energy", **net.dims, **{"relax.solver": "gradient"})
    return judged(network, np.random.default_rng(7), passes)


@pytest.mark.abridged(every=6)
@named(SHIPPED)
def test_every_routine_against_the_interpreter(net: Network) -> None:
    assert disagreements(under(net, ALL), TOLERANCE) == {}


@pytest.mark.abridged(every=8)
@named(SHIPPED, slow=("cet", "thick", "thick_tied", "thin", "hopfield_conv"))
@pytest.mark.parametrize("switch", SWITCHES)
def test_a_switch_changes_no_result(net: Network, switch: str) -> None:
    without = under(net, replace(ALL, **{switch: False}))
    compare(under(net, ALL), without)


@pytest.mark.abridged(every=6)
@named(SHIPPED)
def test_no_pass_at_all_changes_no_result(net: Network) -> None:
    compare(under(net, ALL), under(net, Passes.plain()))


def compare(one: Judged, other: Judged) -> None:
    """Every routine at the same states, and what a relaxation and a rule come to, to 1e-12."""
    with torch.no_grad():
        found, expected = routines(one), routines(other)
    for routine, (values, _) in found.items():
        close(values, expected[routine][0], routine)
    ends = [j.module.relax(j.clamps, steps=8, step=0.05).states for j in (one, other)]
    close(*ends, "relaxation")
    gradients = [
        j.module.gradients(j.clamps, j.targets, rule="bptt", steps=6, step=0.05, allow_biased=True).params
        for j in (one, other)
    ]
    close(*gradients, "bptt")


def close(found: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor], where: str) -> None:
    assert found.keys() == expected.keys(), where
    for name, value in found.items():
        assert distance(value.numpy(), expected[name].numpy()) < 1e-12, (where, name)
