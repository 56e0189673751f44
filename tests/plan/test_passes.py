"""A pass changes no result: every shipped spec with each pass switched off, against all of them."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
import torch

from energyc.plan import Passes
from tests.emit.judge import Judged, TOLERANCE, disagreements, judged, resolved
from tests.independent import Network
from tests.specs.judging import SHIPPED, SPECS, named

SWITCHES = [field.name for field in fields(Passes)]
ALL = Passes(**{name: True for name in SWITCHES})


@cache
def under(net: Network, passes: Passes) -> Judged:
    network = resolved(SPECS / f"{net.name}.energy", **net.dims, **{"relax.solver": "gradient"})
    return judged(network, np.random.default_rng(7), passes)


@named(SHIPPED)
def test_every_routine_against_the_interpreter(net: Network) -> None:
    assert disagreements(under(net, ALL), TOLERANCE) == {}


@named(SHIPPED)
@pytest.mark.parametrize("switch", SWITCHES)
def test_a_switch_changes_no_result(net: Network, switch: str) -> None:
    without = under(net, replace(ALL, **{switch: False}))
    assert without.module.source != "" and switch not in passes_line(without)
    compare(under(net, ALL), without)


@named(SHIPPED)
def test_no_pass_at_all_changes_no_result(net: Network) -> None:
    compare(under(net, ALL), under(net, Passes.plain()))


def passes_line(j: Judged) -> str:
    """Which passes the head of a module names."""
    return next(line for line in j.module.source.splitlines() if line.startswith("Passes:"))


def compare(one: Judged, other: Judged) -> None:
    """A relaxation and all rules, to 1e-12."""
    for rule in ("centered-ep", "bptt"):
        found = [
            j.module.gradients(j.clamps, j.targets, rule=rule, steps=6, step=0.05, beta=0.1, nudge_steps=3, allow_biased=True)
            for j in (one, other)
        ]
        for name, gradient in found[0].params.items():
            scale = 1 + float(gradient.abs().max())
            assert float((gradient - found[1].params[name]).abs().max()) / scale < 1e-12, name
    ends = [j.module.relax(j.clamps, steps=8, step=0.05).states for j in (one, other)]
    for name, state in ends[0].items():
        assert torch.allclose(state, ends[1][name], rtol=1e-12, atol=1e-12), name
