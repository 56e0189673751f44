"""The comparison with what a user would write, at tiny sizes: all of it agrees, and what is wrong is not timed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmarks.against import __main__ as command
from benchmarks.against import networks, report
from benchmarks.against.cases import CASES, problem
from benchmarks.against.comparators import REFERENCE
from benchmarks.against.measure import Disagreement, compare

#: JAX is compared where a run asks for it: it compiles for seconds.
QUICK = ("generated", "by_hand", "published", "torchdeq")


#: The others take ten seconds each.
FAST = ("hopfield", "deq")


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in FAST else pytest.mark.slow) for n in CASES])
def test_all_ways_agree(name: str) -> None:
    found = compare(CASES[name], QUICK, 0.0, quick=True)
    assert set(found["tasks"]) == {"step", "phase", *CASES[name].rules}
    for times in found["tasks"].values():
        assert {REFERENCE, "torch, by hand", "products alone"} <= set(times)
        assert all(0 < value < float("inf") for value in times.values())


def test_what_is_wrong_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = networks.Deq.next
    monkeypatch.setattr(networks.Deq, "next", lambda self, z, p, c: right(self, z, p, c) * 1.0001)
    with pytest.raises(Disagreement, match="torch, by hand: step is off by"):
        compare(CASES["deq"], ("generated", "by_hand"), 0.0, quick=True)


@pytest.mark.slow
def test_results_are_written_and_those_of_other_networks_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("deq", "hopfield"):
        command.main([name, "--quick", "--only", "published", "--out", str(tmp_path)])
    kept = json.loads((tmp_path / "against.json").read_text())
    assert list(kept) == ["hopfield", "deq"]
    table = (tmp_path / "against.md").read_text()
    assert "| hopfield, B = 3: centered-ep |" in table and "| deq, B = 3: implicit |" in table
    assert "2 tasks" not in capsys.readouterr().out


def test_a_column_is_the_fastest_of_its_ways() -> None:
    times = {"JAX (fori_loop)": 3.0, "JAX (jitted steps)": 2.0, "energyc, torch": 5.0, "products alone": 1.0}
    cells = report.columns(times)
    assert cells == {"products alone": 1.0, "energyc, torch": 5.0, "JAX": 2.0}
    assert report.row("a", cells) == "| a | 1 |  | 5 |  |  |  |  | **2** |  |  |"


@pytest.mark.slow
def test_a_case_has_equal_inputs_in_either_dtype() -> None:
    wide, narrow = (problem(CASES["et"], dtype, True) for dtype in (torch.float64, torch.float32))
    for name, value in wide.params.items():
        assert torch.equal(value.float(), narrow.params[name])
    assert torch.equal(wide.clamps["img"].float(), narrow.clamps["img"])
