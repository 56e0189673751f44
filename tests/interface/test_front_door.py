"""A command is an adapter of a function: the same JSON, the same text, the same warnings, the same exit status."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import energyc
from energyc.language.diagnostics import Misuse
from tests.cli.run import SMALL, UNTIED
from tests.cli.run import energyc as command

SPEC, UNTIED_SPEC = "small.energy", "untied.energy"
#: What differs from run to run, or between two folders.
VARYING = frozenset(
    {"seconds", "sweep", "timings", "run", "runs", "file", "picture", "pictures", "page", "path", "import"}
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two specs and a run."""
    folder = tmp_path_factory.mktemp("front")
    (folder / SPEC).write_text(SMALL)
    (folder / UNTIED_SPEC).write_text(UNTIED)
    np.savez(folder / "mine.npz", x=np.random.default_rng(0).normal(size=(40, 4)))
    energyc.train(folder / SPEC, out=folder / "run", quiet=True)
    return folder


@pytest.fixture(autouse=True)
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)


def same(value: Any) -> Any:
    """A result as JSON has it, without what varies."""
    if isinstance(value, Mapping):
        return {str(key): same(item) for key, item in value.items() if key not in VARYING}
    if isinstance(value, list | tuple):
        return [same(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


BIASED = [
    UNTIED_SPEC,
    "--rule",
    "vf",
    "--allow-biased",
    "--steps",
    "1",
    "--data",
    "mine.npz",
    "--set",
    "nudge.beta=0.1",
]
BIASED_OPTIONS: dict[str, Any] = {
    "data": "mine.npz",
    "rule": "vf",
    "allow_biased": True,
    "steps": 1,
    "settings": {"nudge.beta": 0.1},
    "quiet": True,
}
CASES: dict[str, tuple[list[str], Callable[[], Any]]] = {
    "check": (["check", SPEC], lambda: energyc.check(SPEC)),
    "check with a choice": (
        ["check", SPEC, "--set", "J=4", "--preset", "tiny"],
        lambda: energyc.check(SPEC, preset="tiny", dims={"J": 4}),
    ),
    "compile": (
        ["compile", SPEC, "-o", "command", "--target", "torch", "--target", "cpp", "--rule", "ep"],
        lambda: energyc.compile(SPEC, "function", targets=("torch", "cpp"), rules="ep"),
    ),
    "compile standalone": (
        ["compile", SPEC, "-o", "command", "--standalone"],
        lambda: energyc.compile(SPEC, "function", standalone=True),
    ),
    "train": (
        ["train", SPEC, "--steps", "3", "--out", "by-command"],
        lambda: energyc.train(SPEC, steps=3, out="by-function", quiet=True),
    ),
    "train seeds": (
        ["train", SPEC, "--steps", "2", "--seeds", "2", "--out", "several-by-command"],
        lambda: energyc.train(SPEC, steps=2, seeds=2, out="several-by-function", quiet=True),
    ),
    "train by a biased rule": (
        ["train", *BIASED, "--out", "biased-by-command"],
        lambda: energyc.train(UNTIED_SPEC, out="biased-by-function", **BIASED_OPTIONS),
    ),
    "resume": (
        ["train", "--resume", "by-command", "--steps", "5"],
        lambda: energyc.resume("by-function", steps=5, quiet=True),
    ),
    "sweep": (
        [
            "train",
            SPEC,
            "--steps",
            "2",
            "--sweep",
            "train.lr=0.01,0.1",
            "--sweep",
            "J=3,4",
            "--out",
            "sweep-by-command",
        ],
        lambda: energyc.sweep(
            SPEC, {"train.lr": [0.01, 0.1], "J": [3, 4]}, steps=2, out="sweep-by-function", quiet=True
        ),
    ),
    "compare": (
        ["compare", "sweep-by-command/lr=0.01,J=3", "run"],
        lambda: energyc.compare("sweep-by-function/lr=0.01,J=3", "run"),
    ),
    "eval": (["eval", "run", "--samples", "20"], lambda: energyc.evaluate("run", samples=20)),
    "eval several": (["eval", "several-by-command"], lambda: energyc.evaluate("several-by-function")),
    "eval with few bits": (
        ["eval", "run", "--bits", "4,6", "--mismatch", "1%", "--draws", "2", "--samples", "20"],
        lambda: energyc.evaluate("run", bits=(4, 6), mismatch=(0.01,), draws=2, samples=20),
    ),
    "verify": (
        ["verify", SPEC, "--rule", "centered-ep", "--preset", "tiny"],
        lambda: energyc.verify(SPEC, rules="centered-ep", preset="tiny"),
    ),
    "verify a run": (["verify", "run"], lambda: energyc.verify("run")),
    "export": (["export", SPEC, "--to", "sympy"], lambda: energyc.export(SPEC, "sympy")),
    "view": (["view", "run", "-o", "command.html"], lambda: energyc.view("run", out="function.html")),
    "plot": (["plot", "run", "--kind", "curves"], lambda: energyc.plot("run", "curves")),
    "bench": (["bench", SPEC, "--seconds", "0"], lambda: energyc.bench(SPEC, seconds=0)),
    "explain": (["explain", SPEC], lambda: energyc.explain(SPEC)),
}
#: Cases whose text holds times or paths, or which cannot be done twice.
ONCE = ("train", "resume", "sweep", "compare", "eval several", "compile", "view", "bench")


@pytest.mark.parametrize("name", CASES)
def test_a_command_and_its_function_give_the_same(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    arguments, function = CASES[name]
    done = command(capfd, *arguments, "--format", "json")
    found = function()
    assert done.status == (0 if getattr(found, "passed", True) else 4)
    expected = json.loads(json.dumps(same(found.to_json()), default=str))
    assert same(json.loads(done.out)) == expected
    assert str(found)
    if not name.startswith(ONCE):
        assert command(capfd, *arguments, "--quiet").out.rstrip("\n") == str(found)


def test_warnings_and_notes_are_the_same(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = command(capfd, "train", *BIASED, "--out", str(tmp_path / "command")).err
    notes = list[str]()
    found = energyc.train(UNTIED_SPEC, out=tmp_path / "function", notify=notes.append, **BIASED_OPTIONS)
    assert any(note.startswith("warning: vf is biased") for note in notes)
    assert all(note in told for note in notes)
    assert found.warnings and all(f"warning: {text}" in notes for text in found.warnings_before)


MISUSED: dict[str, tuple[list[str], Callable[[], Any]]] = {
    "draws": (["eval", "run", "--draws", "2"], lambda: energyc.evaluate("run", draws=2)),
    "levels": (["eval", "run", "--levels", "box"], lambda: energyc.evaluate("run", levels="box")),
    "check": (["export", SPEC, "--to", "ising", "--check"], lambda: energyc.export(SPEC, "ising", check=True)),
    "checkpoint": (["verify", SPEC, "--checkpoint", "best"], lambda: energyc.verify(SPEC, checkpoint="best")),
    "reference": (["verify", "run", "--reference", "x"], lambda: energyc.verify("run", reference="x")),
    "threads": (["bench", SPEC, "--threads", "5000"], lambda: energyc.bench(SPEC, threads=5000)),
}


@pytest.mark.parametrize("name", MISUSED)
def test_an_option_without_effect_is_refused_by_both(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    arguments, function = MISUSED[name]
    done = command(capfd, *arguments)
    with pytest.raises(Misuse) as refused:
        function()
    assert done.status == 2
    assert refused.value.message in done.err


def test_a_run_is_the_hub(place: Path, tmp_path: Path) -> None:
    made = energyc.train(SPEC, out=tmp_path / "run", quiet=True)
    assert made.evaluate(samples=20).numbers == energyc.evaluate(made, samples=20).numbers
    assert made.verify().to_json()["rules"].keys() == {"centered-ep", "implicit"}
    assert list(made.metrics["step"]) == [row["step"] for row in made.rows]
    assert made.plot("curves").paths
    assert made.view(out=tmp_path / "page.html").path.is_file()
    assert "sympy" in made.export("sympy").text
    assert made.evaluate(bits=(4,), samples=20).to_frame().shape[0] == 2
    assert set(made.verify().to_frame()["rule"]) == {"centered-ep", "implicit"}


def test_a_sweep_over_what_does_nothing_is_refused(tmp_path: Path) -> None:
    """Before anything is trained; every param of hopfield has a rate of its own."""
    with pytest.raises(energyc.UserError, match=r"would be the same: train.lr = 0.01 does nothing: every param"):
        energyc.sweep("hopfield", {"train.lr": [0.01, 0.1]}, preset="verify", out=tmp_path / "sweep", quiet=True)
    assert not (tmp_path / "sweep").exists()


def test_a_sweep_goes_on_where_it_was_and_is_a_table(tmp_path: Path) -> None:
    options: dict[str, Any] = {"steps": 2, "out": tmp_path / "sweep", "quiet": True}
    first = energyc.sweep(SPEC, {"train.lr": [0.01]}, **options)
    both = energyc.sweep(SPEC, {"train.lr": [0.01, 0.1]}, **options)
    assert [run.folder.name for run in both.runs] == ["lr=0.01", "lr=0.1"]
    assert both.runs[0].final == first.runs[0].final
    assert both.comparison.varied == ("train.lr",)
    table = energyc.compare(*both.runs, out=tmp_path / "table.csv")
    assert table.to_csv().splitlines()[0].startswith("run,train.lr,updates,best_step,cost")
    assert (tmp_path / "table.csv").read_text() == table.to_csv()
    assert list(table.to_frame()["train.lr"]) == ["0.01", "0.1"]
    assert table.best.numbers["cost"] == min(run.best["cost"] for run in both.runs)


def test_results_show_themselves(place: Path) -> None:
    assert "accuracy" in energyc.evaluate("run")._repr_html_()
    assert energyc.explain(SPEC)._repr_markdown_().startswith("# small")
    assert "<img src=" in energyc.plot("run", "curves")._repr_html_()
    assert "<iframe" in energyc.view("run", out="shown.html")._repr_html_()


def test_both_write_the_same_files(capfd: pytest.CaptureFixture[str]) -> None:
    command(capfd, "compile", SPEC, "-o", "by-command", "--target", "cpp")
    (path,) = energyc.compile(SPEC, "by-function", targets="cpp").paths
    assert path.read_text() == (Path("by-command") / path.name).read_text() == energyc.compile(SPEC, targets="cpp").text
    command(capfd, "export", SPEC, "--to", "sympy", "-o", "command.py")
    assert energyc.export(SPEC, "sympy").text == Path("command.py").read_text()
