"""A made-up target whose modules are arrays: a package and a word in the registry are all that it takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

import energyc
from energyc import pipeline
from energyc.code import targets
from energyc.code.module.context import Context, Options
from energyc.code.module.printed import Printed
from energyc.code.plan import ModulePlan
from energyc.code.targets.interface import Needs, Ready, Trial
from energyc.language.diagnostics import UserError
from energyc.running.runs.target import compiled_for
from energyc.surfaces.doctor import trial
from energyc.surfaces.report.show import show

TEXT = """\
import numpy as np


class _Rest:
    def __init__(self, states, residual):
        self.states, self.residual = states, residual


class Trial:
    def __init__(self, device=None, dtype=None, seed=0):
        self.params = {"W": np.full((3, 4), 0.25)}

    def relax(self, clamps):
        x, b = (np.asarray(clamps[name], dtype=float) for name in ("x", "b"))
        s = np.zeros_like(b)
        for _ in range(40):
            s = s + ((x @ self.params["W"]) * (1 - np.tanh(s) ** 2) + b - s) / 2
        return _Rest({"s": s}, np.zeros(len(s)))
"""
LEARNED = trial.SPEC.replace("relax {", "target t[J]\ncost c = sum[j]((s[j] - t[j])^2)/2\nrelax {")


class Paper:
    name = "paper"
    title = "paper"
    learns = False
    phases = "arrays"
    usual_on: frozenset[str] = frozenset()
    needs = Needs()
    settled = "settled in {seconds} s"

    def module(self, planned: ModulePlan, options: Options) -> Printed:
        return Printed(TEXT)

    def ready(self, printed: Printed, device: str, dtype: str) -> Ready:
        return Ready()

    def trial(self) -> Trial:
        return Trial()


@pytest.fixture(autouse=True)
def paper(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    package = ModuleType("energyc.code.targets.paper.target")
    package.TARGET = Paper()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, package.__name__, package)
    monkeypatch.setitem(sys.modules, "energyc.code.targets.paper", ModuleType("energyc.code.targets.paper"))
    for place in (targets, pipeline, sys.modules["energyc.surfaces.report.show"]):
        monkeypatch.setattr(place, "TARGETS", (*targets.TARGETS, "paper"))
    yield
    targets.find_target.cache_clear()


def test_it_is_printed_loaded_and_shown() -> None:
    assert pipeline.compile_spec(trial.SPEC, targets=["paper"])[0].text == TEXT
    assert show(pipeline.read(trial.SPEC), "paper") == TEXT
    net = energyc.load(trial.SPEC, target="paper")
    given = {"x": np.ones((2, 3)), "b": np.zeros((2, 4))}
    expected = energyc.load(trial.SPEC, dtype="float64").relax(given).states["s"]
    np.testing.assert_allclose(net.relax(given).states["s"], expected, rtol=0, atol=1e-10)


def test_the_doctor_tries_it() -> None:
    assert trial.try_target("paper")["difference"] < 1e-9


def test_it_stays_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "check_device", lambda device: None)
    with pytest.raises(UserError, match="modules in paper run on the cpu, not on cuda"):
        energyc.load(trial.SPEC, target="paper", device="cuda")


def test_it_is_not_trained() -> None:
    network = pipeline.resolve(pipeline.read(LEARNED))
    with pytest.raises(UserError, match="trial cannot be trained in paper: its modules do not learn"):
        compiled_for("paper", "cpu", network, [network.train.trained_by])


def test_it_is_given_the_weights_of_a_run(tmp_path: Path) -> None:
    random = torch.Generator().manual_seed(0)
    data = {name: torch.rand(8, n, generator=random) for name, n in (("x", 3), ("b", 4), ("t", 4))}
    run = energyc.train(LEARNED, data, steps=2, settings={"train.batch": 4}, out=tmp_path / "run", quiet=True)
    net, expected = energyc.load(run.folder, target="paper"), energyc.load(run.folder)
    assert np.array_equal(net.params["W"], expected.params["W"].detach().numpy())
    assert not np.array_equal(net.params["W"], np.full((3, 4), 0.25))


def test_nothing_of_a_spec_takes_its_words() -> None:
    network = pipeline.resolve(pipeline.read(trial.SPEC.replace("b", "np").replace("J", "spread")))
    options = Options(rules=("ep",), label="spec", version="test")
    context = Context(options.plan(network), options, words=("np", "spread"))
    assert (context.local["np"], context.sizes["spread"].name) == ("np_2", "spread_2")  # type: ignore[attr-defined]
