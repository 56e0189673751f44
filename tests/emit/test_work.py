"""What a step asks of a device: counted by hand, and the launches beside what torch really does."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.roofline import DEVICES, SPECS, Estimate, estimate, kernels
from energyc import pipeline
from energyc.code.loops import Kernel
from energyc.code.loops.work import Amount, total, works
from energyc.code.module.runtime import runtime
from energyc.code.targets.triton.phases import LAUNCHES
from energyc.runtime.kernels import triton_kernels

J, K = 512, 10


@pytest.fixture(scope="module")
def hopfield() -> Kernel:
    return kernels(SPECS / "hopfield.energy", pipeline.Choices())[0]


def test_operations_and_entries_of_a_step(hopfield: Kernel) -> None:
    """One group makes both products with W2 and moves both states: it reads and writes its tensors once."""
    (group,) = works(hopfield)
    # Of an entry: -z, the sum of three in a force, which is the only term of a sum, step times it, z and it, clip.
    assert group.operations == Amount(each=2 * 2 * J * K + 7 * (J + K))
    assert group.entries == Amount(each=3 * J + 2 * K, once=J * K + K)
    assert total(hopfield).entries == group.entries


def test_an_estimate_adds_the_longer_of_arithmetic_and_memory(hopfield: Kernel) -> None:
    device, samples = DEVICES["h100"], 1000
    found = estimate(hopfield, samples, device, device.float32)
    assert isinstance(found, Estimate)
    assert found.launches == 1
    assert found.moved == 4 * total(hopfield).entries.of(samples)
    moved = found.moved / device.bandwidth
    assert found.operations / device.float32 <= moved <= found.generated * (1 + 1e-12)
    assert found.fused == pytest.approx(found.generated, rel=1e-12)  # nothing is left between blocks
    slow = device.float32 / 1000  # products of groups are at the peak of products
    products, rest = samples * 2 * 2 * J * K / slow, samples * 7 * (J + K) / device.float32
    assert estimate(hopfield, samples, device, slow).generated == pytest.approx(products + rest, rel=1e-12)


class Counted(TorchDispatchMode):
    """The operations that do something: views start nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not func.is_view and "view" not in str(func) and "empty" not in str(func):
            self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_operations_of_torch_start_so_many_kernels() -> None:
    a, b = torch.randn(3, 4, 5), torch.randn(5, 6)
    index, entries = torch.randint(0, 6, (3, 7)), torch.randn(3, 7)
    calls = {
        "put_product": lambda: triton_kernels.put_product(torch.zeros(4, 6), a[0], b),
        "put_einsum": lambda: triton_kernels.put_einsum(torch.zeros(3, 4, 6), "abc,cd->abd", a, b),
        "scatter": lambda: triton_kernels.scatter(torch.zeros(3, 6), index, entries, "sum"),
    }
    for name, call in calls.items():
        with Counted() as counted:
            call()
        made = [n for n in counted.names if "zeros" not in n]
        assert len(made) == LAUNCHES.get(runtime(name), 1), (name, made)
