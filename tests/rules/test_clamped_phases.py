"""Contrastive Hebbian learning and predictive coding: what they are the gradient of, found without energyc."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import lsq_linear
from torch import Tensor

from energyc import pipeline
from energyc.language.diagnostics import Source, UserError
from energyc.runtime.kernels.triton_functions import has_triton, interpreted
from energyc.studies.verify import measure_fidelity, random_probe
from tests.cli.run import SMALL, energyc
from tests.emit.kernels import needs_compiler
from tests.rules.networks import HOPFIELD, PREDICTIONS, TURNED, distance, drawn, gradient, loaded, scaled

# ---------------------------------------------------------------- contrastive Hebbian learning


def least(hessian: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """Where 1/2 z^T H z - z^T pull is least in [0, 1]: bounded least squares, by an active set."""
    root = np.linalg.cholesky(hessian)
    return np.asarray(lsq_linear(root.T, np.linalg.solve(root, pull), (0, 1), method="bvls", tol=1e-15).x)


def rests(net: Any, x: np.ndarray, label: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Hidden and output units at the free minimum, and with the output clamped to its label."""
    W1, b1, W2, b2 = (net.params[n].detach().numpy() for n in ("W1", "b1", "W2", "b2"))
    j, k = W2.shape
    hessian = np.block([[np.eye(j), -W2], [-W2.T, np.eye(k)]])
    whole = least(hessian, np.concatenate([x @ W1 + b1, b2]))
    aim = np.eye(k)[label]
    return whole[:j], whole[j:], np.clip(x @ W1 + b1 + W2 @ aim, 0, 1), aim


def test_chl_contrasts_the_minima_of_the_energy() -> None:
    net = loaded(HOPFIELD)
    clamps, targets = drawn(net)
    expected = {name: np.zeros(tuple(param.shape)) for name, param in net.params.items()}
    for x, label in zip(clamps["x"].numpy(), targets["label"], strict=True):
        s, y, s_c, y_c = rests(net, x, int(label))
        expected["W1"] -= np.outer(x, s_c - s)
        expected["b1"] -= s_c - s
        expected["W2"] -= np.outer(s_c, y_c) - np.outer(s, y)
        expected["b2"] -= y_c - y
    found = gradient(net, "chl", (clamps, targets))
    assert distance(found, {n: torch.from_numpy(v / len(targets["label"])) for n, v in expected.items()}) < 1e-9


def feedforward(params: dict[str, Tensor], x: Tensor) -> Tensor:
    """The network of predictions as an ordinary one."""
    hidden = torch.nn.functional.linear(x, params["W1"], params["b1"])
    hidden = torch.nn.functional.linear(hidden.tanh(), params["W2"], params["b2"])
    return torch.nn.functional.linear(hidden.tanh(), params["W3"], params["b3"])


def errors(params: dict[str, Tensor], x: Tensor, s1: Tensor, s2: Tensor, y: Tensor, v: float) -> Tensor:
    """The energy of one sample."""
    linear = torch.nn.functional.linear
    first = (s1 - linear(x, params["W1"], params["b1"])).square().sum()
    second = (s2 - linear(s1.tanh(), params["W2"], params["b2"])).square().sum()
    third = (y - linear(s2.tanh(), params["W3"], params["b3"])).square().sum()
    return (first + second + third / v) / 2


def clamped_gradient(
    net: Any, clamps: dict[str, Tensor], targets: dict[str, Tensor], v: float = 1.0
) -> dict[str, Tensor]:
    """dE/dtheta where the hidden states minimise E, by Newton's method on torch's autograd."""
    params = {name: param.detach().clone().requires_grad_() for name, param in net.params.items()}
    sizes = [len(params["b1"]), len(params["b2"])]
    for x, t in zip(clamps["x"], targets["t"], strict=True):

        def value(flat: Tensor, x: Tensor = x, t: Tensor = t) -> Tensor:
            s1, s2 = flat.split(sizes)
            return errors(params, x, s1, s2, t, v)

        s1 = torch.nn.functional.linear(x, params["W1"], params["b1"]).detach()
        s2 = torch.nn.functional.linear(s1.tanh(), params["W2"], params["b2"]).detach()
        flat = torch.cat([s1, s2])
        for _ in range(1000):  # descent brings it near, Newton's method there
            slope = torch.autograd.functional.jacobian(value, flat)
            flat = flat - 0.1 * slope
            if float(slope.norm()) < 1e-3:
                break
        for _ in range(6):
            slope = torch.autograd.functional.jacobian(value, flat)
            flat = flat - torch.linalg.solve(torch.autograd.functional.hessian(value, flat), slope)
        value(flat.detach()).backward()
    return {name: param.grad / len(targets["t"]) for name, param in params.items() if param.grad is not None}


def backpropagation(net: Any, clamps: dict[str, Tensor], weighted: Tensor) -> dict[str, Tensor]:
    """-<error, d output / d theta>, averaged: backpropagation of an error [batch, K] that is sent back."""
    params = {name: param.detach().clone().requires_grad_() for name, param in net.params.items()}
    (-(feedforward(params, clamps["x"]) * weighted).sum() / len(weighted)).backward()
    return {name: param.grad for name, param in params.items() if param.grad is not None}


@pytest.mark.slow
def test_predictive_coding_is_the_slope_of_the_least_energy() -> None:
    net = loaded(PREDICTIONS)
    data = drawn(net, 0.5)
    expected = clamped_gradient(net, *data)
    assert distance(gradient(net, "predictive-coding", data), expected) < 1e-9
    assert distance(gradient(net, "chl", data), expected) < 1e-9, "nothing is wrong in a free phase of predictions"


@pytest.mark.slow
def test_predictive_coding_tends_to_backpropagation_as_outputs_become_imprecise() -> None:
    """Its error is of the order of the output's precision 1 / v; times v it is that of backpropagation."""
    apart = []
    for v in (1e3, 2e3, 4e3):
        net = loaded(PREDICTIONS, v=v, relax__step__y=v / 5)
        clamps, targets = drawn(net, 0.5)
        with torch.no_grad():
            error = targets["t"] - feedforward(net.params, clamps["x"])
        expected = backpropagation(net, clamps, error)
        found = scaled(gradient(net, "predictive-coding", (clamps, targets)), v)
        assert distance(gradient(net, "implicit", (clamps, targets)), expected) < 1e-9
        apart.append((found, expected, distance(found, expected)))
    assert apart[0][2] < 0.01
    assert apart[0][2] / apart[1][2] == pytest.approx(2, rel=0.02)
    assert apart[1][2] / apart[2][2] == pytest.approx(2, rel=0.02)


@pytest.mark.slow
def test_a_small_error_alone_does_not_make_it_backpropagation() -> None:
    """With all variances 1 it sends back S^-1 e, with S = 1 + J J^T over all layers, in the limit of a small e."""
    net = loaded(PREDICTIONS)
    clamps, _ = drawn(net, 0.5)
    with torch.no_grad():
        output = feedforward(net.params, clamps["x"])
    random = torch.Generator().manual_seed(1)
    way = torch.randn(output.shape, generator=random, dtype=torch.float64)
    sent = []
    for x, e in zip(clamps["x"], way, strict=True):
        params = {name: param.detach() for name, param in net.params.items()}
        s1 = torch.nn.functional.linear(x, params["W1"], params["b1"])
        s2 = torch.nn.functional.linear(s1.tanh(), params["W2"], params["b2"])
        last = params["W3"] * (1 - s2.tanh() ** 2)
        both = last @ (params["W2"] * (1 - s1.tanh() ** 2))
        metric = torch.eye(len(e), dtype=torch.float64) + last @ last.T + both @ both.T
        sent.append(torch.linalg.solve(metric, e))
    expected, plain = backpropagation(net, clamps, torch.stack(sent)), backpropagation(net, clamps, way)
    apart = []
    for size in (1e-3, 1e-4):
        found = scaled(gradient(net, "predictive-coding", (clamps, {"t": output + size * way})), 1 / size)
        apart.append(distance(found, expected))
        assert distance(found, plain) > 0.1
    assert apart[1] < 1e-3 and apart[0] / apart[1] == pytest.approx(10, rel=0.1)


# ---------------------------------------------------------------- the phase


@pytest.mark.abridged
@pytest.mark.parametrize(
    "how", [{}, {"solver": "newton"}, {"solver": "anderson"}, {"step": "auto"}, {"measure": "gradient"}]
)
def test_clamped_states_stay_whatever_moves_the_others(how: dict[str, object]) -> None:
    settings = {"tolerance": 1e-13, "steps": 60, "max_steps": 6000, **how}
    net = loaded(PREDICTIONS, **{f"relax__{name}": value for name, value in settings.items()})
    data = drawn(net, 0.5)
    found = net.gradients(*data, "predictive-coding")
    assert float(found.health["clamped"].max()) <= 1e-13
    assert distance(found.params, clamped_gradient(net, *data)) < 1e-9


def test_a_sample_whose_clamped_phase_has_not_ended_shows_in_the_residual() -> None:
    net = loaded(PREDICTIONS)
    found = net.gradients(*drawn(net), "chl", steps=1)
    assert bool((found.residual >= found.health["clamped"]).all()) and float(found.residual.min()) > 1e-3
    assert float(net.relax(drawn(net)[0], steps=300).residual.max()) < 1e-9


def test_a_real_target_off_the_set_is_an_error() -> None:
    spec = PREDICTIONS.replace("y[K]\n", "y[K] in [-1, 1]\n", 1)
    net = loaded(spec)
    clamps, targets = drawn(net)
    with pytest.raises(ValueError, match="y is clamped off its set, by 2"):
        net.gradients(clamps, {"t": torch.full_like(targets["t"], 3.0)}, "chl")


def by_target(spec: str, rule: str, target: str, dtype: torch.dtype) -> Any:
    compiled = pipeline.emit(pipeline.resolve(pipeline.read(spec)), [rule], target=target)
    assert target == "torch" or "Kernels: free" in compiled.text
    return pipeline.instantiate(compiled, "cpu", dtype, 3)


@pytest.mark.abridged
@needs_compiler
@pytest.mark.parametrize(
    ("spec", "rule"),
    [(HOPFIELD, "chl"), (PREDICTIONS, "predictive-coding"), (HOPFIELD, "dyadic-ep"), (TURNED, "dyadic-ep")],
)
def test_kernels_run_the_second_phase_too(spec: str, rule: str) -> None:
    nets = [by_target(spec, rule, target, torch.float64) for target in ("torch", "cpp")]
    data = drawn(nets[0], 0.5)
    plain, compiled = (gradient(net, rule, data, beta=0.1, nudge_steps=20, steps=300) for net in nets)
    assert distance(compiled, plain) < 1e-10


@pytest.mark.skipif(not (has_triton() and interpreted()), reason="triton does not interpret its kernels here")
def test_triton_runs_a_clamped_phase_too() -> None:
    nets = [by_target(HOPFIELD, "chl", target, torch.float32) for target in ("torch", "triton")]
    data = drawn(loaded(HOPFIELD), 0.5)
    plain, compiled = (gradient(net, "chl", data, steps=40) for net in nets)
    assert distance(compiled, plain) < 1e-5


# ---------------------------------------------------------------- verdicts


def verdicts(spec: str) -> dict[str, tuple[str, str]]:
    rules = pipeline.classify(pipeline.resolve(Source("t", spec))).rules
    return {name: (rule.verdict, rule.why or "") for name, rule in rules.items()}


def test_a_rule_that_follows_another_objective_says_so() -> None:
    found = verdicts(PREDICTIONS)
    assert found["chl"] == ("surrogate", "the gradient of E(clamped) - E(free), not of mse")
    assert found["predictive-coding"] == ("surrogate", "the gradient of E(clamped), not of mse")
    assert found["dual-propagation"][0] == found["dyadic-ep"][0] == "exact"


def test_a_param_that_no_energy_reads_is_named() -> None:
    spec = HOPFIELD.replace("param W2", "param g = 1\nparam W2").replace("cost mse = 1/2", "cost mse = g/2")
    assert verdicts(spec)["chl"][1].endswith("not of mse, and g stay as they are")
    net = loaded(spec)
    assert float(gradient(net, "chl", drawn(net))["g"]) == 0


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize(
    ("spec", "rule", "why"),
    [
        (HOPFIELD.replace("clamped y[k] = where(k == label, 1, 0)\n", ""), "chl", "no state is clamped"),
        (TURNED.replace("energy leak", "clamped z[d] = t[d]\nenergy leak"), "chl", "swirl is not written as an energy"),
        (HOPFIELD.replace("1/2 * sum[k](y[k]^2)", "sum[k](detach(y[k]) * y[k])"), "chl", "leak holds a state fixed"),
        (HOPFIELD, "predictive-coding", "s is kept in a set"),
        (
            PREDICTIONS.replace("energy third", "energy pull = -sum[k](y[k])\nenergy third"),
            "predictive-coding",
            "pull is not a sum",
        ),
        (PREDICTIONS.replace("m2[l])^2", "m2[l])^4"), "dual-propagation", "second is not a sum of squares"),
        (
            PREDICTIONS.replace("(s2[j]", "(s1[j]").replace("1/2 * sum[j]", "-1/2 * sum[j]"),
            "dual-propagation",
            "positive",
        ),
        (
            PREDICTIONS.replace("(y[k] - m3[k])^2)\nread", "(y[k] - m3[k])^2) + sum[k](y[k]^2)\nread"),
            "predictive-coding",
            "third",
        ),
    ],
)
def test_why_a_rule_is_refused(spec: str, rule: str, why: str) -> None:
    verdict, reason = verdicts(spec)[rule]
    assert verdict == "inadmissible" and why in reason
    with pytest.raises(UserError, match=f"{rule} is not defined on"):
        pipeline.emit(pipeline.resolve(Source("t", spec)), [rule])


def test_the_order_of_declaration_does_not_matter() -> None:
    turned = PREDICTIONS.replace("state s1[J], s2[L], y[K]", "state y[K], s2[L], s1[J]")
    lines = turned.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("energy first"))
    lines[first : first + 3] = reversed(lines[first : first + 3])
    assert verdicts("\n".join(lines))["dual-propagation"] == ("exact", "")


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["predictive-coding", "dual-propagation"])
def test_families_of_predictions(rule: str) -> None:
    """An energy for each unit, and two in one line, are the sums that they stand for."""
    family = PREDICTIONS.replace("energy second = 1/2 * sum[l]((s2[l] - m2[l])^2)", "energy second[l] = FAMILY")
    both = "energy first = 1/2 * sum[j]((s1[j] - m1[j])^2)\n"
    assert "FAMILY" in family and both in family
    plain, net = loaded(PREDICTIONS), loaded(family.replace("FAMILY", "(s2[l] - m2[l])^2 / 2"))
    data = drawn(plain, 0.5)
    assert distance(gradient(net, rule, data), gradient(plain, rule, data)) < 1e-12
    joined = family.replace(both, "").replace("FAMILY", "(s2[l] - m2[l])^2 / 2 + mean[j]((s1[j] - m1[j])^2)")
    assert verdicts(joined)[rule][0] in ("surrogate", "exact")


# ---------------------------------------------------------------- verify


@pytest.mark.parametrize("factor", [1.0, 1.01])
def test_verify_compares_a_surrogate_with_what_it_follows(factor: float) -> None:
    net = loaded(HOPFIELD)
    honest = net.gradients

    def gradients(clamps: Any, targets: Any, rule: str, **settings: Any) -> Any:
        found = honest(clamps, targets, rule, **settings)
        return found._replace(params=scaled(found.params, factor)) if rule == "chl" else found

    net.gradients = gradients
    found = measure_fidelity(net, net, random_probe(net, batch=3), ["chl"], verdicts={"chl": "surrogate"})
    rule = found.rules["chl"]
    assert rule.limit is not None and rule.limit.relative_error > 0.01, "it is not the gradient of the cost"
    assert rule.law.startswith("of E(clamped) - E(free): finite differences to")
    assert found.passed == (factor == 1.0)
    assert factor == 1.0 or "E(clamped) - E(free) give another slope (off by 1e-02)" in rule.fault


# ---------------------------------------------------------------- from the command line


@pytest.mark.slow
def test_training_by_each_rule_from_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    clamped = SMALL.replace("energy leak", "clamped y[k] = where(k == label, 1, 0)\nenergy leak", 1)
    spec = tmp_path / "small.energy"
    spec.write_text(clamped)
    for rule in ("chl", "dyadic-ep"):
        done = energyc(capfd, "train", spec, "--rule", rule, "--out", tmp_path / rule, "--quiet")
        assert done.status == 0, done.err
    spec.write_text(clamped.replace("clamped y[k] = where(k == label, 1, 0)", "clamped y[k] = x[0] + 2"))
    outside = energyc(capfd, "train", spec, "--rule", "chl", "--out", tmp_path / "outside", "--quiet")
    assert outside.status == 1 and "E0455" in outside.err and "y is clamped off its set" in outside.err
    spec.write_text(clamped)
    refused = energyc(capfd, "train", spec, "--rule", "predictive-coding", "--out", tmp_path / "pc")
    assert refused.status == 1 and "E0920" in refused.err and "use chl" in refused.err
