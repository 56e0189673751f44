"""Outputs that rest on a bound of their set in all samples, on networks whose states rest where a clamp says."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

import energyc
from energyc.pipeline import read, resolve
from energyc.resources import shipped
from energyc.running.runs.prepare import state_bounds
from energyc.running.training.feeds import Batch
from energyc.running.training.run_health import RunHealth
from energyc.running.training.saturation import Bounds, Saturating, Saturation, cost_slopes, saturation
from tests.cli.run import SMALL, written
from tests.cli.run import energyc as command

#: Both states rest at the clamps, cut off at the ends of their sets.
SPEC = """
network cut
dim J = 2, K = 3
clamp x[K], h[J]
target label : K
param b[K] = 0
state s[J] in nonnegative, y[K] in [0, 1]
energy out = 1/2 * sum[k](y[k]^2) - sum[k]((x[k] + b[k]) * y[k])
energy hidden = 1/2 * sum[j](s[j]^2) - sum[j](h[j] * s[j])
readout scores[k] = y[k]
cost mse = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)
relax { step = 1, steps = 3, tolerance = 1e-6 }
train { rule = centered-ep, steps = 0, batch = 8, eval_samples = 100 }
"""
LAYERED = """
network stacked
dim K = 3
clamp x[K]
target label : K
param b[K] = 0
layer only {
  state y[K] in [0, 1]
  energy out = 1/2 * sum[k](y[k]^2) - sum[k]((x[k] + b[k]) * y[k])
  relax { step = 1, steps = 3, tolerance = 1e-6 }
}
readout scores[k] = only.y[k]
cost mse = 1/2 * sum[k]((only.y[k] - where(k == label, 1, 0))^2)
train { rule = implicit, steps = 0, batch = 8, eval_samples = 100 }
"""
LABELS = [0, 1, 2, 1, 0, 2] * 5


def trained(out: Path, spec: str = SPEC, **clamps: torch.Tensor) -> energyc.Run:
    """A run without updates, tested on its training samples."""
    data = {"label": torch.tensor(LABELS), "x": torch.full((30, 3), 0.5), **clamps}
    data |= {"h": torch.full((30, 2), 0.5), **clamps} if "clamp x[K], h[J]" in spec else {}
    return energyc.train(spec, data, test=data, out=out, quiet=True)


def saturated(run: energyc.Run) -> Saturation:
    assert run.health is not None and run.health.saturated is not None
    assert RunHealth.from_json(run.health.to_json()) == run.health
    assert run.rows[-1]["saturated"] == run.health.saturated.to_json()
    return run.health.saturated


def drives(*low: int, value: float = -0.1, spared: int = 0) -> torch.Tensor:
    """Clamps by which some outputs rest outside of [0, 1], but for the last few samples."""
    x = torch.full((30, 3), 0.5)
    x[: 30 - spared, list(low)] = value
    return x


@pytest.mark.parametrize(("spec", "name"), [(SPEC, "y"), (LAYERED, "only.y")])
def test_a_dead_output_is_named_with_what_helps(tmp_path: Path, spec: str, name: str) -> None:
    run = trained(tmp_path / "run", spec, x=drives(1))
    found = saturated(run)
    (output,) = found.outputs
    assert (output.unit, output.bound, output.resting, output.pulled) == (f"{name}[1]", 0, 30, 10)
    (warning,) = run.warnings
    said = f"output {name}[1] rests on its bound 0 in 30 of 30 test samples and passes no gradient there"
    assert warning.startswith(said) and "pulls it off in 10 of them" in warning
    assert "a set with a margin, as [-1, 2]" in warning and warning in str(run)


def test_the_high_end_and_several_outputs(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", x=drives(0, 2, value=1.2))
    found = saturated(run)
    assert [(o.unit, o.bound, o.resting, o.pulled) for o in found.outputs] == [("y[0]", 1, 30, 20), ("y[2]", 1, 30, 20)]
    assert run.warnings[0].startswith("outputs y[0] and y[2] rest on a bound of their set in 30 or more of 30 test")


@pytest.mark.parametrize(
    "x",
    [drives(), drives(1, spared=2), torch.eye(3)[torch.tensor(LABELS)], torch.eye(3)[torch.tensor(LABELS)] * 2 - 0.5],
    ids=["inside", "off in more than a tenth", "right on both ends", "right beyond both ends"],
)
def test_a_healthy_run_says_nothing(tmp_path: Path, x: torch.Tensor) -> None:
    run = trained(tmp_path / "run", x=x)
    assert saturated(run).count == 0 and not run.warnings


def test_one_sample_off_its_bound_hides_nothing(tmp_path: Path) -> None:
    (output,) = saturated(trained(tmp_path / "run", x=drives(1, spared=1))).outputs
    assert (output.resting, output.pulled) == (29, 10)


def test_units_that_no_cost_compares_are_a_share(tmp_path: Path) -> None:
    h = torch.full((30, 2), 0.5)
    h[:, 0] = -1
    run = trained(tmp_path / "half", h=h)
    assert saturated(run).hidden == {"s": 0.5} and not run.warnings
    run = trained(tmp_path / "whole", h=-h.abs())
    assert saturated(run).hidden == {"s": 1}
    assert run.warnings[0].startswith("nearly all units of s rest on one bound of their set in all 30 test samples")


def test_a_set_with_a_margin_passes_gradients(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", SPEC.replace("[0, 1]", "[-1, 2]"), x=drives(1))
    assert saturated(run).count == 0 and not run.warnings


def test_commands_name_it_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = SMALL.replace("- sum[k](b[k] * y[k])", "- sum[k]((b[k] - where(k == 3, 9, 0)) * y[k])")
    text = text.replace("eval_samples = 40", "eval_samples = 400").replace(
        "steps = 20 }", "steps = 20, tolerance = 1e-3 }"
    )
    path, out = written(tmp_path, text), tmp_path / "run"
    trained = command(capfd, "train", path, "--out", out, "--steps", 2, "--format", "json").json
    (output,) = trained["health"]["saturated"]["outputs"]
    assert output["unit"] == "y[3]" and output["resting"] == 359 and output["pulled"] > 20
    evaluated = command(capfd, "eval", out, "--format", "json").json
    assert evaluated["saturated"]["outputs"] == [output] and evaluated["warnings"] == trained["warnings"]
    assert "warning: output y[3] rests on its bound 0 in 359 of 359" in command(capfd, "eval", out).out
    several = command(capfd, "train", path, "--out", tmp_path / "both", "--steps", 1, "--seeds", 2, "--format", "json")
    assert [text[:13] for text in several.json["warnings"]] == ["seed 0: outpu", "seed 1: outpu"]
    assert command(capfd, "eval", tmp_path / "both").out.count("warning: seed-") == 2


@pytest.mark.parametrize("spec", [SPEC, LAYERED])
def test_slopes_of_the_cost_are_those_of_differences(spec: str) -> None:
    net = energyc.load(spec, dtype=torch.float64)
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    random_numbers = torch.Generator().manual_seed(seed)
    clamps = {
        name: torch.randn(4, *shape, generator=random_numbers).double() for name, (shape, _) in net.clamp_shapes.items()
    }
    states = {
        name: torch.rand(4, *shape, generator=random_numbers).double() for name, shape in net.state_shapes.items()
    }
    batch = Batch(clamps, {"label": torch.tensor([0, 1, 2, 1])})
    found = cost_slopes(net, states, batch)
    for name, state in states.items():
        expected = torch.zeros_like(state)
        for k in range(state[0].numel()):
            ends = []
            for step in (1e-5, -1e-5):
                moved = state.clone()
                moved[:, k] += step
                ends.append(net.cost({**states, name: moved}, clamps, batch.targets))
            expected[:, k] = (ends[0] - ends[1]) / 2e-5
        slope = found[name]
        assert torch.allclose(torch.zeros_like(state) if slope is None else slope, expected, atol=1e-9)


def test_batches_and_ranks_do_not_matter() -> None:
    net, seed = energyc.load(SPEC), random.randrange(10**6)
    print(f"seed {seed}")
    random_numbers = torch.Generator().manual_seed(seed)
    x, h = (torch.randn(40, count, generator=random_numbers) for count in (3, 2))
    x[:, 0], x[:39, 2], x[39, 2], labels = -1.0, 2.0, 0.5, torch.arange(40) % 3
    bounds = {"s": Bounds(0, None, is_output=False), "y": Bounds(0, 1, is_output=True)}

    def measured(*ranks: list[slice]) -> Saturation:
        counters = [Saturating(net, bounds) for _ in ranks]
        for counter, parts in zip(counters, ranks, strict=True):
            for part in parts:
                clamps = {"x": x[part], "h": h[part]}
                counter.add(net.relax(clamps).states, Batch(clamps, {"label": labels[part]}))
        return saturation([counter.counts for counter in counters], bounds, net.state_shapes, 40)

    whole = measured([slice(0, 40)])
    assert [(output.unit, output.resting) for output in whole.outputs] == [("y[0]", 40), ("y[2]", 39)]
    assert measured([slice(0, 16), slice(32, 40)], [slice(16, 32)], []) == whole


#: The states with bounds of shipped specs, and whether the cost compares their units with a target.
BOUNDED: dict[str, dict[str, bool]] = {
    "hopfield": {"s": False, "y": True},
    "hopfield_conv": {"s1": False, "s2": False, "y": True},
    "sparsemax": {"s": False, "p": True},
    "two_costs": {"s": False, "y": True, "r": True},
    "resistive_digits": {"s": False, "t": False},
    "monotone": {"z": False},
    "nonnegative_code": {"a": False},
    "optnet": {"lambda": False},
    "total_variation": {"p": False},
    "linear_attention": {"z": False},
    "tel_digits": {"tau": False},
    "sphere": {},
    "deq": {},
}


@pytest.mark.parametrize("name", BOUNDED)
def test_outputs_are_what_the_cost_compares(name: str) -> None:
    found = state_bounds(resolve(read(shipped()[name])))
    assert {state: bounds.is_output for state, bounds in found.items()} == BOUNDED[name]
