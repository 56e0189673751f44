"""The report of ``verify``: nothing that matters is cut off, and nothing is drawn that was not measured."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from matplotlib.figure import Figure

from energyc import load as energyc_load
from energyc.language.diagnostics import UserError
from energyc.running.training.feeds import Batch
from energyc.studies.verify import (
    Fidelity,
    Loose,
    Looseness,
    Measure,
    PrecisionTable,
    RuleFidelity,
    Settling,
    Spectrum,
    Sweep,
    Verification,
    measure_fidelity,
)
from energyc.surfaces.report import sweep_plots
from energyc.surfaces.report.verify_text import report as report_parts
from energyc.surfaces.tables.layouts import printed
from tests.cli.run import UNTIED, energyc, written
from tests.verify.test_health import HILL

Capture = pytest.CaptureFixture[str]
GOOD = Measure(1.0, 1e-9)
LONG = (
    "the implicit solve stopped at a relative residual of 1.0e+00; there may be no isolated equilibrium here, and so on"
)
SPECTRUM = Spectrum(2048, 0.05, -1.7e12, None, None)


def faithful(rule: str, **changes: Any) -> RuleFidelity:
    return replace(RuleFidelity(rule, GOOD, GOOD, "finite differences to 1e-08", beta=1.23e-5), **changes)


def report(*rules: RuleFidelity, spectrum: Spectrum = SPECTRUM) -> str:
    """The report as it is written to no terminal."""
    seen = Settling(1e-5, 20, 1e-4, (0.5,))
    fidelity = Fidelity({rule.rule: rule for rule in rules}, spectrum, 1e-12, 4, 4, seen)
    return printed(report_parts(Verification("net", {"D": 3}, None, 1.0, fidelity, None)))


def test_no_rule_and_no_reason_is_cut_off(capfd: Capture) -> None:
    said = report(
        faithful(
            "holomorphic-aep", fault="law not met: measured beta^0.33 of beta^4", law="beta^4 (measured 0.33)" * 3
        ),
        faithful("tracking-aep", note=LONG, configured=None),
        faithful("adjoint", note=LONG, configured=None),
        faithful(
            "ep", limit=None, configured=None, law="", fault="no fixed point was found", note="no fixed point was found"
        ),
    )
    assert "…" not in said
    rows = {line.split()[0]: line for line in said.splitlines() if line.startswith(" ") and "  " in line.strip()}
    assert rows["holomorphic-aep"].rstrip().endswith("NOT FAITHFUL")
    assert rows["ep"].rstrip().endswith("NOT MEASURED")
    assert "holomorphic-aep: law not met: measured beta^0.33 of beta^4" in said
    assert f"tracking-aep, adjoint: {LONG}" in " ".join(said.split())
    assert said.count("no fixed point was found") == 1


def test_each_rule_has_its_verdict(tmp_path: Path, capfd: Capture) -> None:
    """A biased rule is marked, and is not a reason to fail."""
    spec = written(tmp_path, UNTIED, "untied")
    done = energyc(capfd, "verify", spec, "--rule", "vf", "--rule", "aep", "--gain", "4")
    rows = {line.split()[0]: line.split()[1] for line in done.out.splitlines() if line.startswith((" vf ", " aep "))}
    assert done.status == 0 and rows == {"vf": "biased", "aep": "exact"}
    rules = energyc(capfd, "verify", spec, "--rule", "vf", "--gain", "4", "--format", "json").json["rules"]
    assert {name: rule["verdict"] for name, rule in rules.items()} == {"vf": "biased", "implicit": "exact"}
    assert rules["vf"]["limit"]["relative_error"] > 0.1 and rules["vf"]["passed"]


EXPLODING = {"relax.step": 3, "relax.steps": 200}


@pytest.mark.slow
def test_of_a_network_that_explodes_no_empty_section_is_shown(tmp_path: Path, capfd: Capture) -> None:
    """There is a fixed point, so that the limit can be measured; as configured there is not one finite state."""
    spec = written(tmp_path, UNTIED.replace("bptt", "tracking-aep"), "untied")
    flags = [part for name, value in EXPLODING.items() for part in ("--set", f"{name}={value}")]
    said = energyc(capfd, "verify", spec, "--rule", "tracking-aep", *flags)
    assert said.status == 0 and "nan" not in said.out.split("Each rule")[1]
    assert "the free phase and so the nudged phases of all 4 samples diverged" in " ".join(said.out.split())
    row = next(line for line in said.out.splitlines() if line.startswith(" tracking-aep "))
    assert row.count("1.000000") == 1 and "0.000000" not in row
    assert "not compared: the states exploded in float32" in said.out and "share" not in said.out
    found = energyc(capfd, "verify", spec, "--rule", "tracking-aep", *flags, "--format", "json").json
    assert found["rules"]["tracking-aep"]["configured"] is None and found["rules"]["tracking-aep"]["passed"]


@pytest.mark.slow
def test_a_trained_implicit_rule_that_cannot_be_solved_is_no_bug(tmp_path: Path, capfd: Capture) -> None:
    spec = written(tmp_path, UNTIED.replace("bptt", "implicit"), "untied")
    done = energyc(capfd, "verify", spec, "--set", "relax.step=3", "--set", "relax.steps=200")
    assert done.status == 0
    assert "the free phase and so the nudged phases of all 4 samples diverged" in " ".join(done.out.split())


@pytest.mark.slow
def test_without_a_fixed_point_there_is_no_table(tmp_path: Path, capfd: Capture) -> None:
    spec = written(tmp_path, UNTIED.replace("(z[d] - x[d])^2", "(x[d] - z[d] / 2) * z[d]"), "pushed")
    for sweep in ([], ["--sweep", "beta"]):
        done = energyc(capfd, "verify", spec, "--rule", "aep", *sweep)
        assert done.status == 4
        assert "NOT MEASURED" in done.out and "aep, implicit: no fixed point was found" in done.out
        assert "Each rule" not in done.out and "Cosine of each param" not in done.out
        assert (
            "aep in float32 against float64" in done.out and "from states that have not settled: residual" in done.out
        )


def test_nudged_phases_that_all_diverge_are_said() -> None:
    """Under -beta the state obeys -(z - x) + beta steep z, which runs away at the spec's beta and not in the limit."""
    net = energyc_load(HILL, rules=["centered-ep", "implicit"], dtype=torch.float64)
    x = torch.ones(2, 3, dtype=torch.float64)

    def found(steep: list[float]) -> RuleFidelity:
        rows = torch.tensor(steep, dtype=torch.float64)[:, None].expand(2, 3)
        return measure_fidelity(net, net, Batch({"x": x, "steep": rows}, {}), ["centered-ep"]).rules["centered-ep"]

    both, one = found([3.0, 3.0]), found([0.1, 3.0])
    assert both.passed and both.configured is None
    assert both.note == "as configured the nudged phases of all 2 samples diverged"
    assert one.passed and one.configured is not None
    assert one.note == "as configured the nudged phases of 1 of 2 samples diverged"


def test_nudged_phases_that_diverge_in_the_limit_give_no_gradient_of_zero() -> None:
    """As it would be were every sample lost at every beta."""
    net = energyc_load(HILL, rules=["centered-ep", "implicit"], dtype=torch.float64)
    probe = Batch({name: torch.ones(2, 3, dtype=torch.float64) for name in ("x", "steep")}, {})
    plain = net.gradients
    net.gradients = lambda *given, **more: plain(*given, **more)._replace(kept=torch.zeros(2, dtype=torch.bool))
    found = measure_fidelity(net, net, probe, ["centered-ep"]).rules["centered-ep"]
    assert found.fault == "its nudged phases diverge at every beta"
    assert found.limit is not None and math.isnan(found.limit.relative_error)


def faint(folder: Path) -> Path:
    """A state that is nudged by hardly anything."""
    return written(folder, UNTIED.replace("rule = bptt }", "rule = vf }\nnudge { beta = 1e-12 }"), "faint")


@pytest.mark.slow
def test_a_nudge_that_rounding_swallows_is_a_warning(tmp_path: Path, capfd: Capture) -> None:
    spec = faint(tmp_path)
    for rule in ("vf", "aep"):
        said = energyc(capfd, "verify", spec, "--rule", rule)
        assert f"{rule} in float32 against float64, beta 1e-12, the nudge on z " in said.out
        assert "warning: the nudge is lost in rounding on z (" in said.out
        found = energyc(capfd, "verify", spec, "--rule", rule, "--format", "json").json
        assert found["faint"] == ["z"] and found["nudge_ulps"]["z"] < 1 and found["float32_rule"] == rule
    enough = energyc(capfd, "verify", spec, "--rule", "vf", "--set", "nudge.beta=1/10")
    assert "the nudge on z" in enough.out and "warning" not in enough.out
    found = energyc(capfd, "verify", spec, "--rule", "vf", "--set", "nudge.beta=1/10", "--format", "json").json
    assert found["faint"] == [] and found["nudge_ulps"]["z"] > 1


def test_float64_is_not_compared_with_itself(tmp_path: Path, capfd: Capture) -> None:
    said = energyc(capfd, "verify", faint(tmp_path), "--rule", "vf", "--set", "train.dtype=float64").out
    assert "vf in float64, beta 1e-12" in said and "float32" not in said and "share" not in said


def test_without_a_slope_of_the_cost_no_nudge_is_missed() -> None:
    assert PrecisionTable("ep", 1.0, 0.0, {"z": 0.0, "y": 0.5}, ()).faint == ("y",)


def test_steps_are_counted_in_words_that_fit(capfd: Capture) -> None:
    for radius, words in ((0.05, "so 1 step for"), (0.9, "so 22 steps for"), (1 - 1e-12, "so 2.303e+12 steps for")):
        said = report(faithful("ep"), spectrum=replace(SPECTRUM, step_radius=radius))
        assert words in said
    assert "-1.7e+12" in said and "Arnoldi" in said
    unknown = replace(SPECTRUM, step_radius=math.nan, largest_real_part=math.nan)
    assert "nan" not in report(faithful("ep"), spectrum=unknown)


@pytest.mark.parametrize("gain", ["nan", "0", "-1", "inf", "1e300", "1000001", "ten"])
def test_a_gain_that_is_none(gain: str, tmp_path: Path, capfd: Capture) -> None:
    done = energyc(capfd, "verify", written(tmp_path, UNTIED, "untied"), "--gain", gain)
    assert (done.status, done.out) == (2, "")
    assert done.err.count("Error:") == 1
    assert "--gain" in done.err and len(done.err) < 250


# ---------------------------------------------------------------- pictures


def loose(residual: float, cosine: float, kept: float = 1.0) -> Loose:
    measure = Measure(cosine, 0.5)
    return Loose(residual, 10, measure, measure, "W", kept)


def test_a_rule_that_diverged_has_no_cosine_in_the_picture(tmp_path: Path, figures: dict[str, Figure]) -> None:
    rules = {
        "aep": (loose(1e-1, 0.4, 0.75), loose(1e-2, 0.5), loose(1e-3, 1.0)),
        "tracking-aep": (loose(1e-1, math.nan, 0.0), loose(1e-2, -0.3), loose(1e-3, 1.0)),
    }
    fidelity = Fidelity({}, None, 0.0, 1, 1, Settling(0.0, 1, None, (1.0,)), Looseness(rules))
    path = sweep_plots.draw_sweep("predictive_coding", fidelity, "residual", tmp_path / "a.png")
    assert path is not None and path.exists()
    (panel,) = figures["a"].axes
    crosses = [line for line in panel.get_lines() if line.get_marker() == "x"]
    assert len(crosses) == 2
    for line in crosses:
        assert list(line.get_xdata()) == [1e-1] and panel.get_ylim()[0] < line.get_ydata()[0] < -0.3
    named = {line.get_label(): list(line.get_ydata()) for line in panel.get_lines()}
    assert named["aep"] == [0.5, 1.0] and named["tracking-aep"] == [-0.3, 1.0]
    assert panel.get_ylim()[0] < -0.4
    whole = figures["a"].bbox
    for text in (panel.title, *panel.get_legend().get_texts()):
        box = text.get_window_extent()
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1


def test_a_rule_without_a_finite_point_is_not_drawn(tmp_path: Path, figures: dict[str, Figure]) -> None:
    empty = faithful("holomorphic-ep", sweep=Sweep("beta", ()))
    swept = faithful("ep", sweep=Sweep("beta", ((0.1, 1e-2), (0.01, 1e-3), (0.001, 0.0))))
    seen = Settling(0.0, 1, None, (1.0,))
    sweep_plots.draw_sweep("n", Fidelity({"a": empty, "b": swept}, None, 0.0, 1, 1, seen), "beta", tmp_path / "a.png")
    assert [len(line.get_xdata()) for line in figures["a"].axes[0].get_lines()] == [2]
    with pytest.raises(UserError, match="none of these rules"):
        sweep_plots.draw_sweep("n", Fidelity({"a": empty}, None, 0.0, 1, 1, seen), "beta", tmp_path / "b.png")
