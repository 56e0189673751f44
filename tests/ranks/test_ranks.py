"""Several processes under torchrun train what one process trains."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch

from benchmarks.sharded import Counted, cet_counts, thick_counts
from energyc.language.diagnostics import UserError
from energyc.pipeline import Choices, read, resolve
from energyc.resources import folder
from energyc.running.ranks.group import ALONE, Group
from energyc.running.runs.prepare import refuse_unshared
from energyc.running.training.loop import train
from energyc.running.training.shares import sharing
from tests.ranks.cases import CASES

ROOT = Path(__file__).resolve().parents[2]
#: Of params after 20 updates, relative to the largest number.
TOLERANCE = 1e-9


def launch(count: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a module in several processes by PyTorch's launcher."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(count)]
    meeting = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "ENERGYC_TARGET": "torch"}
    command = [*torchrun, *meeting, "-m", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500)


def params(run: Path) -> dict[str, torch.Tensor]:
    return safetensors.torch.load_file(run / "checkpoints" / "step-00000020" / "params.safetensors")


def last_evaluation(run: Path) -> dict[str, float]:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    (row,) = [row for row in rows if row["kind"] == "eval" and row["step"] == 20]
    return {name: value for name, value in row.items() if isinstance(value, float)}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs by one process."""
    out = tmp_path_factory.mktemp("alone")
    for name, case in CASES.items():
        train(case.session(out / name, ALONE))
    return out


def differences(one: Path, other: Path) -> dict[str, float]:
    """The largest relative difference of a param or a held-out number, for each case."""
    found = {}
    for name in CASES:
        pairs = [(value, params(other / name)[key]) for key, value in params(one / name).items()]
        numbers = last_evaluation(other / name)
        pairs += [(torch.tensor(v), torch.tensor(numbers[k])) for k, v in last_evaluation(one / name).items()]
        found[name] = max(float((a - b).abs().max() / a.abs().max().clamp(min=1e-6)) for a, b in pairs)
    return found


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3])
def test_params_and_numbers_are_those_of_one_process(count: int, alone: Path, tmp_path: Path) -> None:
    done = launch(count, "tests.ranks.worker", tmp_path, "begin")
    assert done.returncode == 0, done.stderr[-3000:]
    found = differences(alone, tmp_path)
    assert max(found.values()) <= TOLERANCE, found


@pytest.mark.slow
def test_a_run_that_one_rank_stopped_resumes_with_fewer(alone: Path, tmp_path: Path) -> None:
    begun = launch(3, "tests.ranks.worker", tmp_path, "stop")
    assert begun.returncode == 0, begun.stderr[-3000:]
    assert all((tmp_path / name / "checkpoints" / "step-00000008").exists() for name in CASES)
    done = launch(2, "tests.ranks.worker", tmp_path, "resume")
    assert done.returncode == 0, done.stderr[-3000:]
    found = differences(alone, tmp_path)
    assert max(found.values()) <= TOLERANCE, found


# ------------------------------------------------------------------ a divided network (docs/ranks.md)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [thick_counts, cet_counts])
def test_two_ranks_reach_what_the_whole_network_does(counts: Callable[[], list[Counted]]) -> None:
    torch.manual_seed(0)
    for counted in counts():
        assert counted.counted == counted.expected, counted
        assert counted.difference <= TOLERANCE, counted


# ------------------------------------------------------------------ shares, and which group measures


class Pretended(Group):
    """A rank of three."""

    size = 3


@pytest.mark.parametrize("count", [0, 1, 3, 10, 11, 12])
def test_shares_are_consecutive_and_at_most_one_apart(count: int) -> None:
    shares = Pretended().shares(count)
    assert [k for share in shares for k in range(count)[share]] == list(range(count))
    lengths = [len(range(count)[share]) for share in shares]
    assert max(lengths) - min(lengths) <= 1 and lengths == sorted(lengths, reverse=True)


def test_fewer_samples_than_ranks_are_measured_by_each() -> None:
    group = Pretended()
    assert sharing(group, 2) is ALONE and sharing(group, 3) is group


def test_a_process_alone_has_all_the_same() -> None:
    rows = torch.arange(6.0).reshape(3, 2)
    assert torch.equal(ALONE.gathered(rows, [3]), rows)
    assert ALONE.collected("x") == ["x"] and ALONE.announced(1) == 1 and ALONE.any(True) and not ALONE.any(False)
    assert ALONE.first_of(None) is None and torch.equal(ALONE.summed([rows])[0], rows)


@pytest.mark.parametrize(
    ("spec", "overrides", "code", "message"),
    [
        ("hopfield", {"train.batch": "32"}, "E0502", "train.batch = 32 is the batch of all 3 ranks together"),
        ("hopfield", {"train.batch": "33", "relax.step": "auto"}, "E0519", "depend on each other: relax.step = auto"),
        (
            "tel",
            {"train.batch": "33"},
            "E0519",
            "3 ranks cannot share a batch of tel, where samples depend on each other",
        ),
    ],
)
def test_what_ranks_cannot_share(spec: str, overrides: dict[str, str], code: str, message: str) -> None:
    network = resolve(read(str(folder("specs") / f"{spec}.energy")), Choices(overrides=dict(overrides)))
    with pytest.raises(UserError, match=message) as refused:
        refuse_unshared(network, network.train, Pretended())
    assert refused.value.code == code
    refuse_unshared(network, network.train, ALONE)
