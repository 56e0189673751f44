"""The rules for forces that are not conservative, against tests/independent/rules.py in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.autograd.functional import jacobian

from energyc.studies.verify import spectrum
from tests.independent import NOT_CONSERVATIVE, Network, rules
from tests.specs.judging import assert_close, named
from tests.verify.networks import THICK, TIED, error, side

ALL_OF_THEM = named(NOT_CONSERVATIVE)


# ---------------------------------------------------------------- each rule against its transcription


@ALL_OF_THEM
def test_aep_is_its_transcription(net: Network) -> None:
    s = side(net, 0)
    assert_close(s.gradient("aep", beta=0.01, nudge_steps=7), rules.aep(s.problem, s.free, 0.01, 7), 1e-9)


@ALL_OF_THEM
def test_tracking_aep_is_its_transcription(net: Network) -> None:
    s = side(net, 0)
    expected = rules.tracking_aep(s.problem, s.free, 0.01, 7)
    assert_close(s.gradient("tracking-aep", beta=0.01, nudge_steps=7), expected, 1e-9)


@ALL_OF_THEM
def test_vf_is_the_uncorrected_contrast(net: Network) -> None:
    s = side(net, 0)
    assert_close(s.gradient("vf", beta=0.01, nudge_steps=7), rules.centered_ep(s.problem, s.free, 0.01, 7), 1e-9)


# ---------------------------------------------------------------- the rules against backpropagation


@ALL_OF_THEM
@pytest.mark.parametrize("rule", ["aep", "tracking-aep"])
def test_t2_steps_are_truncated_backpropagation_through_t2_steps(net: Network, rule: str) -> None:
    s = side(net, 0)
    assert_close(s.limit(rule, nudge_steps=9), rules.tbptt(s.problem, s.free, 9), 1e-6)


@ALL_OF_THEM
def test_the_adjoint_is_tracking_aep_without_its_beta(net: Network) -> None:
    s = side(net, 0)
    assert_close(s.gradient("adjoint", nudge_steps=9), rules.tbptt(s.problem, s.free, 9), 1e-9)


@pytest.mark.slow
@ALL_OF_THEM
@pytest.mark.parametrize("rule", ["aep", "tracking-aep"])
def test_run_to_convergence_they_are_exact(net: Network, rule: str) -> None:
    s = side(net, 0)
    assert_close(s.limit(rule, nudge_steps=250), rules.implicit(s.problem, s.free), 1e-6)


def test_uncorrected_the_attention_learns_something_else() -> None:
    s = side(THICK, 1)
    found, exact = s.limit("vf", nudge_steps=250), rules.implicit(s.problem, s.free)
    cosines = [
        float(torch.cosine_similarity(found[n].flatten(), exact[n].flatten(), 0)) for n in ("W_q", "W_k", "W_v", "W_o")
    ]
    assert min(cosines) < 0.9


# ---------------------------------------------------------------- how the errors vanish


@pytest.mark.parametrize(("rule", "order"), [("aep", 2), ("tracking-aep", 2), ("holomorphic-aep", 4)])
@pytest.mark.parametrize("seed", range(2))
def test_the_bias_goes_with_a_power_of_beta(rule: str, order: int, seed: int) -> None:
    """Halving beta, or the radius of a circle of four points, divides the error by 2^order."""
    s = side(THICK, seed)
    exact, beta = rules.tbptt(s.problem, s.free, 7), 0.2 if order == 4 else 0.02
    errors = [error(s.gradient(rule, beta=b, nudge_steps=7), exact) for b in (beta, beta / 2)]
    assert errors[1] > 1e-12
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_correction_on_the_attention_alone_is_not_enough(seed: int) -> None:
    """The feed-forward of ``thick`` is untied: what is left is some 14%, where the note expects nothing."""
    partly, wholly = side(THICK, seed, 0.6, ("attention",)), side(THICK, seed, 0.6, ("attention", "ffn"))
    exact = rules.implicit(partly.problem, partly.free)
    left = error(partly.limit("tracking-aep", nudge_steps=200), exact)
    print(f"left over: {left:.3f}")
    assert 0.1 < left < 0.2
    assert error(wholly.limit("tracking-aep", nudge_steps=200), exact) < 1e-7


@pytest.mark.slow
def test_in_thin_the_attention_is_all_there_is_to_correct() -> None:
    thin = next(net for net in NOT_CONSERVATIVE if net.name == "thin")
    s = side(thin, 0, unproved=("attention",))
    assert_close(s.limit("tracking-aep", nudge_steps=250), rules.implicit(s.problem, s.free), 1e-6)


# ---------------------------------------------------------------- the correction itself


@ALL_OF_THEM
@pytest.mark.parametrize("seed", range(2))
def test_the_correction_is_a_dense_jacobian_less_its_transpose(net: Network, seed: int) -> None:
    s = side(net, seed)
    at = {name: value + 0.3 * torch.randn_like(value) for name, value in s.free.items()}
    v = {name: torch.randn_like(value) for name, value in at.items()}
    found = s.module.correction(at, v, s.problem.clamps)
    for k in range(len(at["z"])):
        dense = _jacobian(s.problem, at["z"], k)
        expected = (dense - dense.T) @ v["z"][k].flatten()
        assert torch.allclose(found["z"][k].flatten(), expected, rtol=0, atol=1e-9 * float(expected.norm()))


def _jacobian(problem: rules.Problem, z: torch.Tensor, k: int) -> torch.Tensor:
    """J_nc of one sample, [n, n]."""
    clamps = {name: value[k : k + 1] for name, value in problem.clamps.items()}

    def force(flat: torch.Tensor) -> torch.Tensor:
        return problem.net.forces(problem.params, {"z": flat.reshape(1, *z.shape[1:])}, clamps)["z"].flatten()

    dense: Any = jacobian(force, z[k].flatten())
    return dense


def test_a_tie_makes_the_force_nearly_symmetric() -> None:
    """Without attention: untied the feed-forward is far from a gradient, tied only the layer norm keeps it from one."""
    asymmetry = {}
    for net in (THICK, TIED):
        s = side(net, 9)
        with torch.no_grad():
            s.module.params["W_o"].zero_()
            s.module.params["g2"].fill_(1.0)
        found = spectrum(s.module, s.free, s.problem.clamps, s.module.relax_step)
        assert found.asymmetry is not None
        asymmetry[net.name] = found.asymmetry
    print(asymmetry)
    assert 0 < asymmetry["thick_tied"] < 0.5 * asymmetry["thick"]


# ---------------------------------------------------------------- the tests themselves


def test_a_missing_correction_is_seen() -> None:
    s = side(THICK, 0)
    with pytest.raises(AssertionError):
        assert_close(s.limit("vf", nudge_steps=9), rules.tbptt(s.problem, s.free, 9), 1e-3)
