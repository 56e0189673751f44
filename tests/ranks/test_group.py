"""Shares of a process alone, and which group measures a batch."""

from __future__ import annotations

import pytest
import torch

from energyc.language.diagnostics import UserError
from energyc.pipeline import Choices, read, resolve
from energyc.resources import folder
from energyc.running.ranks.group import ALONE, Group
from energyc.running.runs.prepare import refuse_unshared
from energyc.running.training.shares import sharing


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
