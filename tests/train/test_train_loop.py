"""The loop: what it leaves in the folder, what it learns, and how it stops when numbers go bad."""

from __future__ import annotations

import io
import json
import os
import re
import signal
from pathlib import Path

import pytest
import torch
from rich.console import Console

from energyc.files import SafePath
from energyc.language.diagnostics import UserError
from energyc.running.folder.checkpoints import load_last, steps
from energyc.running.folder.layout import new_run
from energyc.running.runs.saved import load_run
from energyc.running.training.evaluation import evaluate
from energyc.running.training.loop import train
from energyc.running.training.outcome import Diverged, Interrupted
from energyc.running.training.progress import BarReporter, PlainReporter, Reporter, make_reporter
from energyc.running.training.seeds import read_summary, train_each
from energyc.running.training.session import Session
from energyc.surfaces.report.held_out_text import summary_table
from tests.train.tiny import TinyNet, make_session


def test_learns_and_fills_the_folder(tmp_path: Path) -> None:
    out = tmp_path / "run"
    outcome = train(make_session(out, {"epochs": 20, "batch": 10, "lr": 0.05, "log_every": 10}))
    assert outcome.steps == 100
    assert {path.name for path in out.iterdir()} == {
        "spec.energy",
        "tiny_torch.py",
        "run.json",
        "metrics.jsonl",
        "relaxations.jsonl",
        "timings.jsonl",
        "checkpoints",
        "pictures",
    }
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    held_out = [row["cost"] for row in rows if row["kind"] == "eval"]
    assert held_out[-1] == outcome.final["cost"] < 0.01 * held_out[0]
    assert [row["step"] for row in rows if row["kind"] == "train"] == list(range(10, 101, 10))
    assert not any("second" in key or "time" in key for row in rows for key in row)
    info = json.loads((out / "run.json").read_text())
    assert info["options"]["lr"] == 0.05 and info["energyc"] == "0.0" and info["steps"] == 100
    assert len(steps(SafePath(out) / "checkpoints")) <= 3


def test_evaluation_of_the_best_checkpoint(tmp_path: Path) -> None:
    out = tmp_path / "run"
    settings = {"steps": 60, "batch": 10, "lr": 0.05, "best": "accuracy", "eval_every": 4}
    outcome = train(make_session(out, settings))
    assert outcome.best_step is not None and outcome.best_step < 60  # accuracy reaches 1 early; the first one counts
    fresh = make_session(out, settings)
    numbers, _, chosen = evaluate(fresh)
    assert chosen == outcome.best_by == "test"
    assert numbers.pop("step") == outcome.best_step
    assert numbers == outcome.best
    net = TinyNet(seed=9)
    assert load_run(out).load_into(net).step == outcome.best_step
    assert torch.equal(net.W, fresh.net.params["W"])
    assert load_run(out).source.text == "network tiny\n"
    assert load_run(out).options == fresh.options


def test_random_generators_of_the_caller_stay(tmp_path: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(make_session(tmp_path / "run", {"steps": 3}))
    assert torch.equal(torch.rand(3), expected)


def test_refuses_a_folder_in_use(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("precious")
    with pytest.raises(UserError, match="not empty") as caught:
        train(make_session(tmp_path / "run", {"steps": 1}))
    assert caught.value.code == "E0510"
    assert (tmp_path / "run" / "thesis.tex").read_text() == "precious"
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(UserError):
        train(make_session(file, {"steps": 1}))


def test_default_folder(tmp_path: Path) -> None:
    with new_run("cet", tmp_path) as path:
        assert path == tmp_path / "cet-1" and path.is_dir()
    assert not path.exists()
    for name in ("cet-1", "cet-7", "cet-lm", "thick-9"):
        (tmp_path / name).mkdir()
    with new_run("cet", tmp_path / "runs") as path:
        assert path.is_dir()
    assert not (tmp_path / "runs").exists()  # nothing was written
    with new_run("cet", tmp_path / "runs") as path:
        (path / "run.json").touch()
    with new_run("thick", tmp_path / "runs"):
        pass
    assert [each.name for each in (tmp_path / "runs").iterdir()] == ["cet-1"]
    with new_run("cet", tmp_path) as path, new_run("cet", tmp_path) as other:
        assert (path, other) == (tmp_path / "cet-8", tmp_path / "cet-9")
        (path / "run.json").touch()
    assert path.exists() and not other.exists()


@pytest.mark.parametrize(("settings", "name"), [({"best": "acuracy"}, "accuracy"), ({"metrics": ["f1"]}, "accuracy")])
def test_unknown_metric_is_told_before_anything_is_written(
    tmp_path: Path, settings: dict[str, object], name: str
) -> None:
    with pytest.raises(UserError) as caught:
        train(make_session(tmp_path / "run", {"steps": 1, **settings}))
    assert caught.value.code == "E0501" and name in str(caught.value.help)
    assert not (tmp_path / "run").exists()


def test_rule_that_was_not_compiled(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not compiled for the rule vf"):
        train(make_session(tmp_path / "run", {"steps": 1, "rule": "vf"}))


@pytest.mark.filterwarnings("error")
def test_divergence_keeps_a_good_checkpoint(tmp_path: Path) -> None:
    out = tmp_path / "run"
    session = make_session(out, {"steps": 200, "batch": 10, "optimizer": "sgd", "lr": 1e15, "eval_every": 1000})
    with pytest.raises(Diverged) as caught:
        train(session)
    kept = load_last(SafePath(out) / "checkpoints", pytest.fail)
    assert caught.value.kept == kept.step == 0
    assert all(bool(torch.isfinite(value).all()) for value in kept.params.values())
    assert caught.value.what == "the cost" and "step 0 is kept" in str(caught.value)  # the state is still finite
    assert 0 < caught.value.step < 200


def test_data_that_are_not_finite_are_named_by_clamp_and_sample(tmp_path: Path) -> None:
    with pytest.raises(UserError) as raised:
        train(make_session(tmp_path / "run", {"steps": 5}, bad=True))
    assert raised.value.message == "pairs.x, which feeds the clamp x, is nan in train sample 3 at [0]"


def test_an_energy_term_that_is_not_finite_is_named(tmp_path: Path) -> None:
    session = make_session(tmp_path / "run", {"steps": 5})
    session.net.W.data[0, 0] = float("nan")
    with pytest.raises(Diverged, match="spring is not finite"):
        train(session)


def test_gradient_that_is_not_finite(tmp_path: Path) -> None:
    session = make_session(tmp_path / "run", {"steps": 5, "batch": 10})
    plain = session.net.gradients

    def poisoned(*given: object, **named: object) -> object:
        result = plain(*given, **named)  # type: ignore[arg-type]
        result.params["b"][2] = float("inf")
        return result

    session.net.gradients = poisoned  # type: ignore[method-assign, assignment]
    before = session.net.params["W"].clone()
    with pytest.raises(Diverged, match="the gradient of b is not finite"):
        train(session)
    assert torch.equal(before, session.net.params["W"])


def test_clipping_bounds_the_update(tmp_path: Path) -> None:
    from energyc.running.training.feeds import Feed
    from energyc.running.training.learner import Learner

    session = make_session(tmp_path, {"optimizer": "sgd", "lr": 1, "clip": 0.01, "batch": 10})
    learner = Learner(session, Feed(session.feeds, "train", "cpu", torch.float32))
    before = [param.detach().clone() for param in learner.params.values()]
    row = learner.update(0)
    moved = (
        sum(float(((a - b.detach()) ** 2).sum()) for a, b in zip(before, learner.params.values(), strict=True)) ** 0.5
    )
    assert row["gradient_norm"] > 0.01 and moved == pytest.approx(0.01, rel=1e-3)


def test_plain_lines_and_bar(tmp_path: Path) -> None:
    for number, (terminal, kind) in enumerate([(False, PlainReporter), (True, BarReporter)]):
        stream = io.StringIO()
        reporter = make_reporter(console=Console(file=stream, force_terminal=terminal, width=200))
        assert type(reporter) is kind
        train(make_session(tmp_path / str(number), {"steps": 20, "eval_every": 10}), reporter=reporter)
        text = stream.getvalue()
        assert "tiny (centered-ep)" in text and "20/20" in text and "test cost" in text and "accuracy" in text
        assert "residual" in text
    assert type(make_reporter(quiet=True)) is Reporter


def bar_of(width: int, total: int, values: dict[str, float]) -> str:
    """The bar after some updates, without what moves the cursor."""
    stream = io.StringIO()
    reporter = BarReporter(Console(file=stream, force_terminal=True, width=width, color_system=None))
    with reporter:
        reporter.begin("a_network_of_a_long_name (holomorphic-aep), seed 17", 0, total)
        reporter.evaluation({"step": 0, "cost": 0.123, **values, "residual": 1e-4})
        for step in (total // 2, total // 2 + 1):
            reporter.update({"step": step, "cost": 0.5123, "settled": 0.97, "residual": 2e-4, "gradient_norm": 3e-3})
    shown = re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", stream.getvalue())
    return next(line for line in reversed(re.split(r"[\r\n]", shown)) if "left" in line).rstrip()


@pytest.mark.parametrize(
    ("width", "end"),
    [
        (200, " cost 0.5123, test cost 0.123, accuracy 50.00%, settled 97%, residual 2.0e-04, gradient 3.0e-03"),
        (80, " cost 0.5123, test cost 0.123, accuracy 50.00%"),
        (60, " cost 0.5123, test cost 0.123"),
        (30, " cost 0…"),
    ],
)
def test_a_bar_fits_its_terminal(width: int, end: str) -> None:
    """The time left, the steps, costs and metrics first: no number is cut, and no line broken."""
    bar = bar_of(width, 3000, {"accuracy": 0.5})
    assert len(bar) <= width
    assert re.match(r"[-\d]:[-\d]{2}:[-\d]{2} left +1501/3000 ", bar) and bar.endswith(end), bar
    assert ("━" in bar) == (width >= 80)


@pytest.mark.parametrize("width", [80, 60])
def test_parts_of_a_bar_are_whole(width: int) -> None:
    """Whatever the length of a run and of the names of its metrics."""
    for total in (9, 12_345, 1_234_567):
        bar = bar_of(width, total, {"accuracy": 0.5, "perplexity_of_the_words": 31.0})
        assert len(bar) <= width and "cost 0.5123" in bar and "…" not in bar
        last = bar.rsplit(", ", 1)[-1]
        whole = ("test cost 0.123", "accuracy 50.00%", "perplexity_of_the_words 31", "settled 97%", "gradient 3.0e-03")
        assert last in whole or bar.endswith("cost 0.5123"), bar


def test_a_log_gets_a_line_now_and_then() -> None:
    stream, now = io.StringIO(), iter(range(0, 10_000, 12))
    reporter = PlainReporter(Console(file=stream, width=80), clock=lambda: next(now))
    reporter.begin("tiny (ep)", 0, 100)
    for step in range(1, 11):
        reporter.update({"step": step, "cost": 0.5, "settled": 0.97, "residual": 2e-4, "gradient_norm": 3e-3})
    lines = stream.getvalue().splitlines()
    assert 2 <= len(lines) <= 5
    assert re.match(
        r" *\d+ s left  tiny \(ep\): step \d+/100  cost 0.5, settled 97%, residual 2.0e-04, gradient 3.0e-03$", lines[0]
    )


def test_seeds(tmp_path: Path) -> None:
    out = tmp_path / "many"

    def make(seed: int, path: Path) -> Session:
        return make_session(path, {"steps": 20, "seed": seed})

    lines = io.StringIO()
    summary = train_each(make, [0, 1, 2], out, reporter=PlainReporter(Console(file=lines, width=200)))
    for seed in (0, 1, 2):
        assert f"tiny (centered-ep), seed {seed}: step 20/20" in lines.getvalue()
    cost = summary["final"]["cost"]
    values = torch.tensor(cost["values"], dtype=torch.float64)
    assert len(set(cost["values"])) == 3
    assert cost["mean"] == pytest.approx(float(values.mean())) and cost["deviation"] == pytest.approx(
        float(values.std())
    )
    assert json.loads((out / "summary.json").read_text()) == summary == read_summary(out)
    stream = io.StringIO()
    Console(file=stream, width=120).print(summary_table(summary))
    assert "cost" in stream.getvalue() and "±" in stream.getvalue()
    accuracy = summary["final"]["accuracy"]
    assert f"{accuracy['mean']:.2%} ± {accuracy['deviation']:.2%}" in stream.getvalue()
    with pytest.raises(UserError, match="several seeds") as caught:
        load_run(out)
    assert "seed-1" in str(caught.value.help)
    again = train_each(make, [0, 1, 2], out, resume=True)
    assert again["final"] == summary["final"] and again["best"] == summary["best"]


def test_no_run_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a run folder"):
        load_run(tmp_path / "nothing")
    (tmp_path / "run.json").write_bytes(b"\xff\x00")
    with pytest.raises(UserError, match="not a run folder"):
        load_run(tmp_path)


@pytest.mark.slow
def test_interrupted_seeds_go_on(tmp_path: Path) -> None:
    settings = {"steps": 30, "batch": 10, "eval_every": 10}

    def make(seed: int, path: Path) -> Session:
        return make_session(path, {**settings, "seed": seed})

    def stopping(seed: int, path: Path) -> Session:
        session = make(seed, path)
        plain = session.net.gradients

        def gradients(*given: object, **named: object) -> object:
            if seed == 1 and int(session.net.calls) == 17:
                os.kill(os.getpid(), signal.SIGTERM)
            return plain(*given, **named)  # type: ignore[arg-type]

        session.net.gradients = gradients  # type: ignore[method-assign, assignment]
        return session

    out = tmp_path / "stopped"
    with pytest.raises(Interrupted) as caught:
        train_each(stopping, [0, 1, 2], out)
    assert caught.value.out == out / "seed-1" and caught.value.step == 18
    assert caught.value.help.endswith(f"--resume {out}")
    (out / "seed-2").mkdir()
    (out / "seed-2" / "metrics.jsonl").touch()  # as a kill before the first checkpoint leaves it
    resumed = train_each(make, read_summary(out)["seeds"], out, resume=True)
    whole = train_each(make, [0, 1, 2], tmp_path / "whole")
    assert resumed["final"] == whole["final"] and resumed["best"] == whole["best"]


def test_weights_that_overflow_are_not_saved(tmp_path: Path) -> None:
    session = make_session(
        tmp_path / "run", {"steps": 5, "batch": 10, "optimizer": "sgd", "save_every": 1, "eval_every": 9}
    )
    step = session.net.project_params

    def overflow() -> None:
        step()
        if int(session.net.calls) == 3:
            session.net.params["W"].data[0, 0] = float("inf")

    session.net.project_params = overflow  # type: ignore[method-assign]
    with pytest.raises(Diverged, match="param W is not finite") as caught:
        train(session)
    assert caught.value.kept == load_last(SafePath(tmp_path / "run") / "checkpoints", pytest.fail).step == 2


def test_nothing_settled(tmp_path: Path) -> None:
    session = make_session(tmp_path / "run", {"steps": 2, "batch": 10, "gate": 1e-3})
    plain = session.net.gradients

    def unsettled(*given: object, **named: object) -> object:
        result = plain(*given, **named)  # type: ignore[arg-type]
        result.residual.fill_(1.0)
        return result

    session.net.gradients = unsettled  # type: ignore[method-assign, assignment]
    before = session.net.params["W"].clone()
    warning, unsettled_too, nothing = train(session).warnings
    assert "did not settle" in unsettled_too and nothing.endswith("(best: step 0)")  # no remedy: the cause is above
    assert warning.startswith("no sample took part in 2 of 2 updates") and "below train.gate = 0.001" in warning
    assert f"energyc verify {tmp_path / 'run'}" in warning
    again = train(make_session(tmp_path / "run", {"steps": 3, "batch": 10, "gate": 1e-3}), resume=True).warnings[0]
    assert "in 2 of 3 updates" in again
    rows = load_run(tmp_path / "run").rows()
    assert [row["gated"] for row in rows if row["kind"] == "train"] == [10, 10, 0]
    assert torch.equal(before, session.net.params["W"])


def test_diverged_nudges_are_counted_and_move_nothing(tmp_path: Path) -> None:
    """Half of the first batch and all of the second are thrown out by their nudged phases."""
    session = make_session(tmp_path / "run", {"steps": 3, "batch": 10, "optimizer": "adam"})
    plain = session.net.gradients

    def throwing_out(*given: object, **named: object) -> object:
        result = plain(*given, **named)  # type: ignore[arg-type]
        result.kept[: [5, 10, 0][session.net.calls - 1]] = False
        seen.append(session.net.params["W"].detach().clone())
        return result

    seen: list[torch.Tensor] = []
    session.net.gradients = throwing_out  # type: ignore[method-assign, assignment]
    warnings = train(session).warnings
    rows = [row for row in load_run(tmp_path / "run").rows() if row["kind"] == "train"]
    assert [row["dropped"] for row in rows] == [5, 10, 0] and [row["frozen"] for row in rows] == [0, 0, 0]
    assert rows[1]["gradient_norm"] is None and torch.equal(seen[1], seen[2]) and not torch.equal(seen[0], seen[1])
    assert any("no sample took part in 1 of 3 updates" in warning for warning in warnings)
    assert any("nudged phases diverged in 2 of 3 updates" in warning for warning in warnings)


def test_a_last_evaluation_that_is_not_finite(tmp_path: Path) -> None:
    session = make_session(tmp_path / "run", {"steps": 2})
    plain = session.net.relax

    def exploding(*given: object, **named: object) -> object:
        relaxed = plain(*given, **named)  # type: ignore[arg-type]
        relaxed.residual[0] = float("nan")
        return relaxed

    session.net.relax = exploding  # type: ignore[method-assign, assignment]
    (warning,) = train(session).warnings
    assert warning.startswith("not finite in the last evaluation: residual, residual_max; energyc verify")


def test_run_json_changed_by_hand(tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(make_session(out, {"steps": 1}))
    info = json.loads((out / "run.json").read_text())
    info["options"]["lr"] = "fast"
    (out / "run.json").write_text(json.dumps(info))
    with pytest.raises(UserError, match=r"train\.lr` is a number .* not `fast`"):
        _ = load_run(out).options
