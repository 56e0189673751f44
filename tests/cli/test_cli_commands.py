"""Each command on a spec that is right."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import energyc as package
from energyc.surfaces.report.view import view
from tests.cli.run import LANGUAGE, SMALL, UNTIED, energyc, written
from tests.quick import slow

Capture = pytest.CaptureFixture[str]


def test_check(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path)
    done = energyc(capfd, "check", path)
    assert done.status == 0
    assert "network small: A small network." in done.out
    report = energyc(capfd, "check", path, "--format", "json").json
    assert report["class"] == "conservative"
    assert report["params"] == 64 * 6 + 6 * 10 + 10
    assert report["states"]["s"] == {"shape": ["J"], "sizes": [6], "set": "[0, 1]"}
    assert [term["name"] for term in report["terms"]] == ["leak", "synapses"]
    assert report["terms"][0] == {
        "name": "leak",
        "kind": "energy",
        "class": "conservative",
        "evidence": "gradient",
        "potential": "1/2 * sum[j](s[j]^2) + 1/2 * sum[k](y[k]^2)",
    }
    assert report["rules"]["centered-ep"] == {"verdict": "exact"}
    assert report["rules"]["holomorphic-ep"]["verdict"] == "inadmissible"
    assert package.check(path).to_json() == report
    assert package.check(SMALL).network == "small"


@pytest.mark.slow
def test_compile_gives_the_same_bytes_and_a_module_that_needs_the_runtime_alone(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path)
    first = energyc(capfd, "compile", path, "-o", tmp_path / "a", "--rule", "ep")
    assert first.out == f"{tmp_path / 'a' / 'small_torch.py'}\n"
    second = energyc(capfd, "compile", path, "-o", tmp_path / "b", "--rule", "ep", "--format", "json").json
    assert second["files"][0]["class"] == "Small"
    assert (tmp_path / "a" / "small_torch.py").read_bytes() == Path(second["files"][0]["path"]).read_bytes()
    wings = ("language", "mathematics", "derivation", "proofs", "code", "running", "studies", "surfaces")
    others = {f"energyc.{wing}" for wing in wings}
    code = f"import sys, small_torch; small_torch.Small(); assert not {others} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "a", check=True, env={"PATH": ""})


@pytest.mark.slow
def test_a_run_from_training_to_pictures(tmp_path: Path, capfd: Capture) -> None:
    path, run = written(tmp_path), tmp_path / "run"
    done = energyc(capfd, "train", path, "--preset", "tiny", "--set", "train.steps=5", "--out", run, "--format", "json")
    assert done.status == 0, done.err
    assert done.json["steps"] == 5
    kept = {path.name for path in run.iterdir()}
    assert {"spec.energy", "small_torch.py", "run.json", "metrics.jsonl", "checkpoints"} <= kept
    measured = energyc(capfd, "eval", run, "--format", "json").json
    assert measured["samples"] > 100
    assert measured["cost"] == pytest.approx(done.json["best"]["cost"], rel=0.5)
    again = energyc(capfd, "train", "--resume", run, "--steps", "7", "--format", "json")
    assert again.json["steps"] == 7, again.err
    assert "learning.png" in energyc(capfd, "plot", run, "--samples", "2").out
    assert "dE/dW" in energyc(capfd, "explain", run).out
    refused = energyc(capfd, "train", path, "--out", run)
    assert refused.status == 1
    assert "--resume" in refused.err


@pytest.mark.slow
def test_the_kept_spec_is_resolved(tmp_path: Path, capfd: Capture) -> None:
    run = tmp_path / "run"
    flags = ["--preset", "tiny", "--set", "nudge.beta=1/4", "--set", "relax.tolerance=1e-3", "--steps", "0"]
    assert energyc(capfd, "train", written(tmp_path), *flags, "--out", run).status == 0
    kept = (run / "spec.energy").read_text()
    assert "J = 3" in kept
    assert "# A small network." in kept
    assert "beta = 0.25" in kept
    assert "tolerance = 0.001" in kept
    assert kept.count("relax {") == kept.count("nudge {") == 1
    net = package.load(run)
    assert net.params["W"].shape == (64, 3)


@pytest.mark.slow
def test_training_in_double_precision(tmp_path: Path, capfd: Capture) -> None:
    run = tmp_path / "run"
    done = energyc(capfd, "train", written(tmp_path), "--out", run, "--steps", "2", "--set", "train.dtype=float64")
    assert done.status == 0, done.err
    assert package.load(run).params["W"].dtype == torch.float64
    longer = energyc(capfd, "train", "--resume", run, "--steps", "3")
    assert longer.status == 0, longer.err
    assert json.loads((run / "run.json").read_text())["dtype"] == "float64"


@pytest.mark.slow
def test_the_rule_and_the_reason_for_it_are_in_the_head_and_in_json(tmp_path: Path, capfd: Capture) -> None:
    silent = written(tmp_path, SMALL.replace("rule = centered-ep, ", ""), "silent")
    arguments = ("train", silent, "--steps", "1", "--out")
    because = "train.rule is not set, and implicit is exact for any force"
    assert f"trained by implicit ({because})" in energyc(capfd, *arguments, tmp_path / "a").err
    told = energyc(capfd, *arguments, tmp_path / "b", "--format", "json").json
    assert (told["rule"], told["why_this_rule"]) == ("implicit", because)
    assert told["health"]["settled"] is not None and told["seconds_since_step"] == 0
    chosen = energyc(capfd, *arguments, tmp_path / "c", "--rule", "centered-ep")
    assert "trained by centered-ep (by train.rule)" in chosen.err
    assert "health: " in chosen.out


@pytest.mark.slow
def test_a_resumed_run_says_which_steps_its_time_counts(tmp_path: Path, capfd: Capture) -> None:
    run = tmp_path / "run"
    assert "2 steps in " in energyc(capfd, "train", written(tmp_path), "--steps", "2", "--out", run).out
    longer = energyc(capfd, "train", "--resume", run, "--steps", "5")
    assert "5 steps, the 3 since resuming at step 2 in " in longer.out


@pytest.mark.slow
def test_training_by_no_sample_says_so(tmp_path: Path, capfd: Capture) -> None:
    arguments = ("train", written(tmp_path), "--set", "train.gate=1e-30", "--steps", "2", "--quiet", "--out")
    assert "warning: no sample took part in 2 of 2 updates" in energyc(capfd, *arguments, tmp_path / "a").out
    warning, *_ = energyc(capfd, *arguments, tmp_path / "b", "--format", "json").json["warnings"]
    assert "energyc verify" in warning
    assert "warning: seed 1: no sample took part" in energyc(capfd, *arguments, tmp_path / "c", "--seeds", "2").out


@pytest.mark.abridged
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            ("nudge.snapshots=3",),
            "nudge.snapshots = 3 does nothing: two snapshots are compared, and nudge.steps = 4 has",
        ),
        (("relax.max_steps=10",), "relax.max_steps = 10 does nothing: relax.steps = 20 are made in any case"),
        slow(
            (
                ("train.lr.W=0.1", "train.lr.V=0.1", "train.lr.b=0.1"),
                "train.lr = 0.01 does nothing: every param has a rate",
            )
        ),
        (("train.lr.W=0.1", "train.lr.V=0.1"), None),
        slow((("train.penalty=jacobian",), "train.penalty does nothing: every term is conservative")),
        slow((("nudge.snapshots=2", "relax.max_steps=20", "train.penalty=none"), None)),
    ],
)
def test_settings_that_do_nothing(settings: tuple[str, ...], said: str | None, tmp_path: Path, capfd: Capture) -> None:
    flags = [word for setting in settings for word in ("--set", setting)]
    path = written(tmp_path)
    told = energyc(capfd, "check", path, *flags, "--format", "json").json["notes"]
    shown = energyc(capfd, "train", path, *flags, "--steps", "0", "--out", tmp_path / "run").err
    if said is None:
        assert not any("does nothing" in text for text in (*told, shown))
    else:
        assert any(note.startswith(said) for note in told) and f"note: {said}" in shown


BIASED = "train.rule = vf is biased on untied, because of ffn: "
INADMISSIBLE = "train.rule = bptt is inadmissible on untied (the states relax by Newton's method, "


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("train.rule=vf",), f"{BIASED}train refuses it unless train.allow_biased insists on it (use tracking-aep)"),
        (("train.rule=vf", "train.allow_biased=true"), f"{BIASED}train.allow_biased insists on it (use tracking-aep)"),
        (("relax.solver=newton",), f"{INADMISSIBLE}whose steps are not taken back): train refuses it (use implicit)"),
        ((), "relax has no tolerance: exactly 50 steps, converged or not"),
    ],
)
def test_a_rule_that_is_not_exact(settings: tuple[str, ...], said: str, tmp_path: Path, capfd: Capture) -> None:
    flags = [word for setting in settings for word in ("--set", setting)]
    path = written(tmp_path, UNTIED)
    assert energyc(capfd, "check", path, *flags, "--format", "json").json["notes"][0] == said
    assert f"  notes   {said}\n" in energyc(capfd, "check", path, *flags).out


def test_a_rule_that_hangs_on_what_is_undecided(tmp_path: Path, capfd: Capture) -> None:
    text = UNTIED.replace("tanh(sum[e](z[e] * W1[e,f]))", "z[0] * W1[0,f] * (sin(x[0])^2 + cos(x[0])^2 - 1)")
    text = text.replace("bptt", "vf")
    (first, *_) = energyc(capfd, "check", written(tmp_path, text), "--format", "json").json["notes"]
    assert first.startswith("train.rule = vf is unproved on untied: exact only if ffn is conservative (use tracking")


@pytest.mark.slow
def test_a_network_of_forces_alone_trains_and_is_drawn(tmp_path: Path, capfd: Capture) -> None:
    energies = [line for line in SMALL.splitlines() if line.startswith("energy")]
    forces = "force fs on s[j] = sum[i](x[i] * W[i,j]) - s[j]\nforce fy on y[k] = b[k] + sum[j](s[j] * V[j,k]) - y[k]"
    path = written(tmp_path, SMALL.replace("\n".join(energies), forces))
    flags = ("--rule", "aep", "--out", tmp_path / "run")
    assert energyc(capfd, "train", path, *flags).status == 0
    assert "energy.png" in energyc(capfd, "plot", tmp_path / "run").out


TURN = "param T[J, J] ~ normal(0.1)\nforce turn on s[j] = sum[i in J](T[j,i] * s[i])\nrelax {"


@pytest.mark.slow
def test_a_biased_rule_is_warned_of_wherever_it_trains(tmp_path: Path, capfd: Capture) -> None:
    run, path = tmp_path / "run", written(tmp_path, SMALL.replace("relax {", TURN).replace("centered-ep", "vf"))
    begun = energyc(capfd, "train", path, "--allow-biased", "--out", run, "--steps", "1", "--format", "json")
    assert begun.status == 0, begun.err
    assert "vf is biased" in begun.json["warnings"][0] and "turn" in begun.json["warnings"][0]
    assert "vf is biased" in energyc(capfd, "train", "--resume", run, "--steps", "2").err


def test_an_unproved_force_is_penalised(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path, UNTIED, "untied")
    report = energyc(capfd, "check", path, "--set", "train.penalty=jacobian", "--format", "json").json
    assert not any("does nothing" in note for note in report["notes"])


@pytest.mark.slow
def test_seeds(tmp_path: Path, capfd: Capture) -> None:
    run = tmp_path / "runs"
    done = energyc(capfd, "train", written(tmp_path), "--seeds", "2", "--steps", "2", "--out", run, "--format", "json")
    assert done.status == 0, done.err
    assert done.json["seeds"] == [0, 1]
    assert json.loads((run / "summary.json").read_text())["seeds"] == [0, 1]
    assert "seeds.png" in energyc(capfd, "plot", run).out
    of_run = energyc(capfd, "eval", run / "seed-1", "--format", "json").json
    found = energyc(capfd, "eval", run, "--format", "json").json
    assert found["seeds"] == [0, 1] and found["numbers"]["cost"]["values"][1] == of_run["cost"]
    assert found["health"] == done.json["health"] and found["health"][0]["gradient"] > 0
    assert "seed 1: 85% of samples settled" in energyc(capfd, "eval", run).out
    assert found["split_size"] == 359
    assert "7 of 359 samples of the test split" in " ".join(energyc(capfd, "eval", run, "--samples", "7").out.split())
    measured = energyc(capfd, "verify", run, "--format", "json")
    assert measured.json["passed"] and list(measured.json["seeds"]) == ["0", "1"], measured.err
    assert measured.json["seeds"]["1"]["checkpoint"]["health"]["settled"] == found["health"][1]["settled"]
    assert energyc(capfd, "verify", run, "--quiet").out.count("  health: ") == 2


@pytest.mark.parametrize("stage", ["tree", "network", "ir", "forces", "jacobian", "plan", "torch"])
def test_every_stage_can_be_shown(stage: str, tmp_path: Path, capfd: Capture) -> None:
    done = energyc(capfd, "show", written(tmp_path), "--stage", stage)
    assert done.status == 0, done.err
    expected = {
        "tree": "Equation word='energy'",
        "network": "state s[J] in [0, 1]",
        "ir": "einsum",
        "forces": "force y[k] = b[k] - y[k] + sum[j](V[j,k] * s[j])",
        "jacobian": "J v y[k] = sum[j](V[j,k] * v_s[j]) - v_y[k]",
        "plan": "once a relaxation: 1",
        "torch": "class Small(rt.EnergyNetwork)",
    }
    assert expected[stage] in done.out


def test_explain_in_each_layout(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path)
    for ending, mark in ((".md", "dE/dW[i,j] = -x[i] * s[j]"), (".tex", r"\end{document}"), (".html", "</math>")):
        out = tmp_path / f"e{ending}"
        assert energyc(capfd, "explain", path, "-o", out).status == 0
        assert mark in out.read_text()
    assert "error[E0907]" in energyc(capfd, "explain", path, "-o", tmp_path / "e.pdf").err


def test_no_name_becomes_markup(tmp_path: Path, capfd: Capture) -> None:
    text = SMALL.replace("# A small network.", "# <script>alert(1)</script> \\input{x} | **bold** `code`")
    path = written(tmp_path, text)
    for ending in (".md", ".tex", ".html"):
        out = tmp_path / f"e{ending}"
        assert energyc(capfd, "explain", path, "-o", out).status == 0
        assert "<script>" not in out.read_text().replace("\\textless", "") or ending == ".tex"
        assert "\\input{x}" not in out.read_text() or ending != ".tex"


def test_no_description_steers_what_shows_it(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path, SMALL.replace("A small network.", "Red \x1b[31m, a bell \x07,\n# turned \u202e round"))
    texts = [energyc(capfd, "check", path, "--color", "never").out]
    for ending in (".md", ".tex", ".html"):
        assert energyc(capfd, "explain", path, "-o", tmp_path / f"small{ending}").status == 0
        texts.append((tmp_path / f"small{ending}").read_text())
    assert energyc(capfd, "compile", path, "-o", tmp_path).status == 0
    texts.append((tmp_path / "small_torch.py").read_text())
    for text in texts:
        assert "x1b" in text
        assert {char for char in text if not char.isprintable()} == {"\n"}
    description = energyc(capfd, "check", path, "--format", "json").json["description"]
    assert description == "Red \\x1b[31m, a bell \\x07,\nturned \\u202e round"


def test_fmt(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path, SMALL.replace("state s[J] in [0, 1],", "state    s[J] in [0,1]  ,"))
    assert energyc(capfd, "fmt", path, "--check").status == 1
    assert energyc(capfd, "fmt", path).status == 0
    assert "state s[J] in [0, 1]" in path.read_text()
    assert energyc(capfd, "fmt", path, "--check").status == 0
    assert energyc(capfd, "fmt", "-", stdin=path.read_text()).out == path.read_text()


@pytest.mark.slow
def test_new_checks_and_trains(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert energyc(capfd, "new", "mine").status == 0
    assert energyc(capfd, "fmt", "mine.energy", "--check").status == 0
    assert energyc(capfd, "check", "mine.energy").status == 0
    assert energyc(capfd, "train", "mine.energy", "--steps", "1").status == 0
    assert (tmp_path / "runs" / "mine-1" / "run.json").exists()
    assert energyc(capfd, "new", "mine").status == 1
    assert energyc(capfd, "new", "energy").status == 1
    assert energyc(capfd, "new", "../x y").status == 1


@pytest.mark.slow
def test_a_run_is_verified_by_the_rule_that_trained_it(tmp_path: Path, capfd: Capture) -> None:
    run = tmp_path / "run"
    flags = ("--preset", "tiny", "--rule", "ep", "--steps", "1", "--out", run, "--quiet")
    assert energyc(capfd, "train", written(tmp_path), *flags).status == 0
    found = energyc(capfd, "verify", run, "--format", "json").json
    assert "ep" in found["rules"] and "centered-ep" not in found["rules"]
    assert found["float32"]


def test_data_paths(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path)
    wrong = energyc(capfd, "train", path, "--data", "nowhere", "--out", tmp_path / "run")
    assert wrong.status == 1
    assert "nowhere" in wrong.err
    two = SMALL.replace("target label : K = digits", "data more = digits(side = 8)\ntarget label : K = more")
    unclear = energyc(capfd, "train", written(tmp_path, two, "two"), "--data", "x", "--out", tmp_path / "run")
    assert unclear.status == 1
    assert "--data digits=PATH" in unclear.err


def test_the_operations_of_a_step_are_those_of_its_matrix_products(tmp_path: Path, capfd: Capture) -> None:
    report = energyc(capfd, "check", written(tmp_path), "--format", "json").json
    products_with_v = 2 * (2 * 6 * 10)  # V y and V^T s; W x is computed once a relaxation
    assert report["flops_per_step"] == products_with_v


@pytest.mark.slow
def test_sample(tmp_path: Path, capfd: Capture) -> None:
    run = tmp_path / "run"
    assert energyc(capfd, "train", written(tmp_path, LANGUAGE, "chars"), "--out", run, "--quiet").status == 0
    flags = ("--prompt", "To be", "--length", "12", "--seed", "3")
    first, second = energyc(capfd, "sample", run, *flags), energyc(capfd, "sample", run, *flags)
    assert first.status == 0, first.err
    assert first.out == second.out
    assert first.out.startswith("To be")
    assert len(first.out) == len("To be") + 12 + 1
    cold = energyc(capfd, "sample", run, "--temperature", "0", "--length", "3", "--format", "json").json
    assert len(cold["text"]) == 3
    step = energyc(capfd, "eval", run, "--format", "json").json["step"]
    assert cold["step"] == step and first.err == f"the best checkpoint, of step {step}\n"
    other = tmp_path / "other"
    assert energyc(capfd, "train", written(tmp_path), "--steps", "0", "--out", other, "--quiet").status == 0
    assert "error[E0923]" in energyc(capfd, "sample", other).err


@pytest.mark.slow
def test_steps_that_are_the_network_are_not_measured_by_rest(tmp_path: Path, capfd: Capture) -> None:
    """Steps of a fixed number by bptt, without a tolerance; with one the share that settled is shown."""
    settings = ("--rule", "bptt", "--steps", "2", "--set", "relax.tolerance=none")
    path, run = written(tmp_path), tmp_path / "run"
    done = energyc(capfd, "train", path, *settings, "--out", run)
    told = done.out + done.err + energyc(capfd, "eval", run).out
    assert done.status == 0 and "cost" in told and "residual" not in told and "of samples settled" not in told, told
    assert "settled" in energyc(capfd, "eval", run, "--format", "json").json
    assert "free steps" in (page := view([run])) and "samples that settled" not in page and "worst sample" not in page
    several = energyc(capfd, "train", path, *settings, "--seeds", "2", "--out", tmp_path / "several")
    assert "cost" in several.out and "residual" not in several.out
    resting = energyc(capfd, "train", path, "--steps", "2", "--out", tmp_path / "resting")
    assert "residual" in resting.out and "of samples settled" in resting.out


@pytest.mark.slow
def test_a_clamp_may_give_the_numbers_of_its_field_other_axes(tmp_path: Path, capfd: Capture) -> None:
    """Pixels in rows and columns: the run is that of the same pixels in one row, to rounding."""
    flat = SMALL.replace("~ glorot", "~ normal(0.1)")
    square = flat.replace("dim I = 64", "dim S = 8").replace("x[I]", "x[S, S]").replace("W[I, J]", "W[S, S, J]")
    square = square.replace("sum[i,j](x[i] * W[i,j]", "sum[p,q,j](x[p,q] * W[p,q,j]")
    assert square.count("S, S") == 2 and "[i" not in square
    short = ("--steps", "3", "--format", "json", "--set", "train.dtype=float64")
    runs = [
        energyc(capfd, "train", written(tmp_path, text, name), *short, "--out", tmp_path / f"{name}-run")
        for name, text in {"flat": flat, "square": square}.items()
    ]
    assert [run.status for run in runs] == [0, 0], runs
    one, other = (run.json["final"] for run in runs)
    assert other == pytest.approx(one, rel=1e-9)
    assert energyc(capfd, "eval", tmp_path / "square-run").status == 0
