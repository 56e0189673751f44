"""Blocks of states: slopes of forces that are affine in a state, the order of a sweep, and what is not exact."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from energyc.derivation.derive import derive
from energyc.derivation.derive.blocks import BENT, MIXED, UNSIGNED, Blocks, diagonal_slope
from energyc.language.diagnostics import Source, SpecError
from energyc.language.network import Network
from energyc.mathematics.ir.interpreter import key
from energyc.pipeline import resolve
from energyc.surfaces.report.check import check_source
from tests.derive.drawn_blocks import drawn
from tests.emit.judge import judged
from tests.emit.random_specs import random_spec

SEEDS = [random.Random(int(os.environ["ENERGYC_SEED"]) + k).randrange(2**32) for k in range(12)]


def resolved(text: str) -> Network:
    return resolve(Source("spec", text))


def blocks_of(text: str) -> Blocks:
    return derive(resolved(text)).blocks


def specs(make: Callable[[int], str], seed: int) -> Network:
    """The first network from a seed on that has a type: nearly all have."""
    while True:
        try:
            return resolved(make(seed))
        except SpecError:
            seed += 1


@pytest.mark.abridged(every=12)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", [drawn, random_spec], ids=["quadratic", "any"])
def test_a_force_is_affine_with_the_slope_that_is_found(make: Callable[[int], str], seed: int) -> None:
    """In the interpreter at two values of the state; a network of any kind has such slopes only here and there."""
    network = specs(make, seed)
    at = judged(network, np.random.default_rng(seed))
    for name, state in network.states.items():
        force = at.derivation.smooth[name]
        slope = diagonal_slope(network.graph, force, state.node)
        if isinstance(slope, str):
            assert make is not drawn, f"seed {seed}: {name}: {slope}"
            continue
        here = at.inputs[key(state.node)]
        moved = replace(
            at, inputs={**at.inputs, key(state.node): here + np.random.default_rng(seed).normal(size=here.shape)}
        )
        first, second = (each.values({"force": force, "slope": slope}) for each in (at, moved))
        np.testing.assert_array_equal(first["slope"], second["slope"], err_msg=f"seed {seed}: {name}")
        change = first["slope"] * (moved.inputs[key(state.node)] - here)
        np.testing.assert_allclose(
            second["force"] - first["force"], change, rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}"
        )


HEAD = """\
network n
dim D = 3
clamp x[D]
param W[D, D] ~ normal(0.1), S[D, D] ~ normal(0.1) in symmetric, p[D] = 1, q[D] = 1 in nonnegative
readout all_params = sum[d](p[d] + q[d] + sum[e](W[d,e] + S[d,e]))
"""
SQUARES = "energy own = 1/2 * sum[d](y[d]^2 + z[d]^2) - sum[d](x[d] * y[d])\n"


@pytest.mark.parametrize(
    ("states", "energies", "why"),
    [
        ("z[D]", "sum[d](z[d]^2) - sum[d,e](S[d,e] * z[d] * z[e])", MIXED),
        ("z[D]", "sum[d](z[d]^2) - sum[d | d + 1 < D](z[d] * z[d + 1])", MIXED),
        ("z[D]", "sum[d](z[d]^2) + sum[d](z[d])^2", MIXED),
        ("z[D]", "sum[d](z[d]^2 + z[d]^4)", BENT),
        ("z[D]", "sum[d](z[d]^2 + softplus(z[d]))", BENT),
        ("z[D]", "sum[d](z[d]^2 - abs(z[d]))", BENT),
        ("z[D]", "sum[d](p[d] * z[d]^2)", UNSIGNED),
        ("z[D]", "sum[d](q[d] * z[d]^2)", UNSIGNED),
        ("z[D]", "-sum[d](z[d]^2)", UNSIGNED),
        ("z[D] in simplex[D]", "sum[d]((1 + q[d]) * z[d]^2)", "it is kept in a simplex set"),
        ("z[D]", "sum[d]((1 + q[d]) * z[d]^2) + sqrt(sum[d](z[d]^2))", "a norm of it is in the energies"),
    ],
)
def test_a_state_that_does_not_move_exactly_has_a_reason(states: str, energies: str, why: str) -> None:
    found = blocks_of(f"{HEAD}state {states}\nenergy all = {energies} - sum[d](x[d] * z[d])\n")
    assert found.others["z"].startswith(why)
    assert not found.slopes


@pytest.mark.parametrize("kept", ["simplex[D]", "sphere[D]", "standardized[D]"])
def test_on_a_set_that_joins_entries_a_state_moves_exactly_by_one_number(kept: str) -> None:
    found = blocks_of(f"{HEAD}state z[D] in {kept}\nenergy all = 3/4 * sum[d](z[d]^2) - sum[d](x[d] * z[d])\n")
    assert found.numbers == {"z": 1.5}


def test_a_slope_may_read_other_states() -> None:
    found = blocks_of(f"{HEAD}state y[D], z[D]\n{SQUARES}energy both = sum[d](y[d]^2 * z[d]^2)\n")
    assert found.numbers == {"y": None, "z": None}
    assert found.order == (("y",), ("z",))


def order(*edges: str, forces: bool = False, first: str = "a", cost: str = "") -> tuple[tuple[str, ...], ...]:
    """The blocks of states that see one another as ``ab`` says; with ``forces`` only a acts on b."""
    names = sorted({name for edge in edges for name in edge} | {first})
    lines = [f"state {name}[D]" for name in names]
    lines += [f"energy own_{name} = 1/2 * sum[d]({name}[d]^2)" for name in names]
    lines += [f"energy given = -sum[d](x[d] * {first}[d])"]
    for a, b in edges:
        pair = f"sum[e](W[d,e] * {a}[e])"
        lines.append(f"force f_{a}{b} on {b}[d] = {pair}" if forces else f"energy e_{a}{b} = -sum[d]({b}[d] * {pair})")
    return blocks_of(HEAD + "\n".join(lines) + f"\n{cost}\n").order


def test_states_move_by_their_distance_from_what_is_clamped() -> None:
    assert order("ab", "bc") == (("a",), ("b",), ("c",))
    assert order("ab", "bc", first="c") == (("c",), ("b",), ("a",))
    assert order("ab", "ac", "bd", "cd") == (("a",), ("b", "c"), ("d",))
    assert order("ab", "ac", "bc") == (("a",), ("b",), ("c",))


def test_where_nothing_acts_back_a_state_follows_all_that_it_reads() -> None:
    assert order("ab", "ac", "bc", "cd", forces=True) == (("a",), ("b",), ("c",), ("d",))
    assert order("ad", "bd", "cd", forces=True) == (("a", "b", "c"), ("d",))


def test_states_that_only_the_cost_joins_are_not_one_block() -> None:
    assert order("ab", "ac") == (("a",), ("b", "c"))
    assert order("ab", "ac", cost="cost c0 = sum[d](b[d] * c[d])") == (("a",), ("b",), ("c",))


RAISES = "no sweep of a free phase raises the energy by more than rounding"


@pytest.mark.parametrize(
    ("term", "said"),
    [
        ("", True),
        ("force f on z[d] = x[d]\n", False),
        ("energy held = sum[d](frozen(y[d]) * z[d])\n", False),
        ("energy bent = sum[d](z[d]^4)\n", False),
        ("let m[d] = mean[batch](y[d])\nenergy far = sum[d](m[d] * z[d])\n", False),
    ],
)
def test_check_says_that_no_sweep_raises_the_energy_where_that_is_so(term: str, said: bool) -> None:
    text = f"{HEAD}state y[D], z[D]\n{SQUARES}{term}relax {{ solver = blocks }}\n"
    notes = check_source(Source("spec", text)).notes
    assert any(note.startswith("moved exactly") for note in notes)
    assert (RAISES in notes) == said
