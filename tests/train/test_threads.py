"""How many threads a command that runs a network has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from energyc.pipeline import Choices, read, resolve
from energyc.resources import resource
from energyc.running.runs.target import FEWEST, VARIABLES, operations, suited_threads


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def network(name: str, **dims: int) -> object:
    return resolve(read(resource("specs", f"{name}.energy")), Choices.of(dims=dims))


@pytest.mark.usefixtures("two")
def test_a_small_step_has_one_thread_and_a_large_one_all() -> None:
    small = network("hopfield")
    enough = -(-FEWEST // operations(small))
    with suited_threads(small, enough) as note:
        assert note is None and torch.get_num_threads() == 2
    with suited_threads(small, enough - 1) as note:
        assert note is not None and note.startswith("one thread of 2") and torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two")
def test_what_the_environment_says_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with suited_threads(network("hopfield"), 1) as note:
        assert note is None and torch.get_num_threads() == 2


def test_the_operations_of_layers_count_for_each_copy() -> None:
    one, two = (operations(network("cem", L=copies)) for copies in (1, 2))
    assert two == 2 * one
