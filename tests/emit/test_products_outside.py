"""Products outside of phases: by the library of kernels as by torch, at awkward sizes and strides."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from torch import Tensor

from energyc import pipeline
from energyc.files import SafePath
from energyc.runtime.kernels import products
from energyc.runtime.kernels.library import ROUNDS, Library, kept_library
from energyc.runtime.kernels.products import ProductKernels, walked
from tests.emit.kernels import SPECS, drawn, needs_compiler, shipped
from tests.emit.random_products import always_kernels, check_products, every_product


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProductKernels]:
    """Kernels that make every product that they can."""
    monkeypatch.setenv("CXXFLAGS", "-O1")
    with every_product() as made:
        yield made


@pytest.mark.abridged
@needs_compiler
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("threads", [1, 3])
def test_random_products(kernels: ProductKernels, dtype: torch.dtype, threads: int) -> None:
    seed = Random().randrange(10**9)
    print(f"seed {seed}")
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        assert check_products(kernels, Random(seed), dtype, 150) > 50
    finally:
        torch.set_num_threads(before)


@needs_compiler
def test_threads_do_not_change_a_digit(kernels: ProductKernels) -> None:
    a, b = torch.randn(70, 600), torch.randn(600, 45)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            found.append(kernels.matmul(a, b))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


@needs_compiler
def test_what_torch_makes_itself(kernels: ProductKernels) -> None:
    a, b = torch.randn(9, 8, dtype=torch.float64), torch.randn(8, 7, dtype=torch.float64)
    own = torch.nn.Parameter(b)
    kernels.matmul(a, own).sum().backward()
    assert own.grad is not None
    assert torch.equal(own.grad, a.sum(0)[:, None].expand(8, 7)) or torch.allclose(own.grad, a.sum(0)[:, None])
    jacobian = torch.func.jacrev(lambda x: kernels.matmul(x, b))(a)
    assert jacobian.shape == (9, 7, 9, 8)
    assert torch.equal(kernels.matmul(a.bfloat16(), b.bfloat16()), a.bfloat16() @ b.bfloat16())
    assert torch.equal(kernels.matmul(a, b[:, 0]), a @ b[:, 0])
    with pytest.raises(RuntimeError):
        kernels.matmul(a, a)


@pytest.mark.parametrize("equation", ["aa,ab->b", "ab,bc->abc"[:-1] + "b", "ab,cd->ac", "a,a->"])
def test_what_is_no_product(equation: str) -> None:
    operands = equation.split("->")[0].split(",")
    shapes = [tuple(900 for _ in x) for x in operands]
    assert walked(equation, shapes[0], (900, 1)[: len(shapes[0])], shapes[1], (900, 1)[: len(shapes[1])]) is None


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("name", ["hopfield", pytest.param("thick", marks=pytest.mark.slow)])
def test_an_update_makes_its_products_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of an update's gradients, with every product by kernels, are those of torch."""
    monkeypatch.setenv("CXXFLAGS", "-O1")
    monkeypatch.setattr(products, "LEAST", 0)
    monkeypatch.setattr(products, "FEWEST", 1)
    monkeypatch.setattr(Library, "fastest", always_kernels)
    walked.cache_clear()
    network = shipped(next(p for p in SPECS if p.stem == name))
    rules = [network.train.trained_by, "bptt", "implicit"]
    nets = [
        pipeline.instantiate(pipeline.emit(network, rules, target=target, runtime="import"), "cpu", torch.float64, 0)
        for target in ("cpp", "torch")
    ]
    made: list[str] = []
    own = ProductKernels._product

    def counted(self: ProductKernels, equation: str, a: Tensor, b: Tensor, usual: Any) -> Tensor | None:
        found = own(self, equation, a, b, usual)
        made.extend([equation] * (found is not None))
        return found

    monkeypatch.setattr(ProductKernels, "_product", counted)
    random = torch.Generator().manual_seed(5)
    clamps, targets = drawn(nets[0].clamp_shapes, random, nets[0]), drawn(nets[0].target_shapes, random, nets[0])
    for rule in rules:
        made.clear()
        by_kernels, as_torch = (net.gradients(clamps, targets, rule).params for net in nets)
        assert made, rule
        for param, slope in as_torch.items():
            far = float((by_kernels[param] - slope).abs().max()) / max(1.0, float(slope.abs().max()))
            assert far < 1e-9, (rule, param, far)


def test_a_trial_has_the_memory_that_strides_walk_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows with gaps are longer than their entries, and what all samples share is shorter."""
    seen: dict[str, Any] = {}
    monkeypatch.setattr(Library, "_tried", lambda _, name, sizes, numbers: seen.update(json.loads(sizes), all=numbers))
    monkeypatch.setattr(Library, "keep", lambda _: None)
    gaps, shared = torch.arange(20.0).reshape(2, 10)[:, :3], torch.ones(4).expand(5, 4)
    library = Library(b"", None)  # type: ignore[arg-type]
    assert library.refusal("product", [torch.zeros(2)], [gaps, shared, gaps[:0]], torch.empty(0), None) is None
    assert seen["given"] == [13 * 4, 4 * 4, 0] and len(seen["all"]) == 8 + 13 * 4 + 4 * 4


@pytest.mark.parametrize("faster", ["torch", "kernels"])
def test_the_faster_way_is_timed_once_and_kept(faster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for the next process, which computes as this one did; a library that was built anew is timed anew."""
    calls: list[str] = []

    def way(name: str) -> Callable[[], None]:
        def call() -> None:
            calls.append(name)
            time.sleep(0 if name == faster else 0.003)

        return call

    ways = {name: way(name) for name in ("torch", "kernels")}
    place = SafePath(tmp_path) / "library.kernels"
    library = Library(b"built", place)
    assert library.fastest("a product", ways) == library.fastest("a product", ways) == faster
    assert calls.count("torch") == calls.count("kernels") <= ROUNDS + 1
    calls.clear()
    assert Library(b"built", place).fastest("a product", ways) == faster and not calls
    kept = kept_library(place)
    assert kept is not None and kept.chosen == {"a product": faster}
    assert Library(b"built anew", place).fastest("a product", ways) == faster and calls


@needs_compiler
@pytest.mark.parametrize("faster", ["torch", "kernels"])
def test_a_product_is_made_by_the_faster_way(faster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[set[str]] = []
    monkeypatch.setattr(Library, "fastest", lambda _, task, ways: asked.append(set(ways)) or faster)
    network = shipped(next(p for p in SPECS if p.stem == "hopfield"))
    net = pipeline.instantiate(pipeline.emit(network, target="cpp", runtime="import"), "cpu", torch.float32, 0)
    monkeypatch.setattr(net.kernels, "chosen", {})
    a, b = torch.randn(128, 96), torch.randn(96, 64)
    assert net.kernels._product("ab,bz->az", a[:120], b, lambda: a[:120] @ b) is None or faster == "kernels"
    found = net.kernels._product("ab,bz->az", a, b, lambda: a @ b)
    assert asked == [{"torch", "kernels"}] and (found is None) == (faster == "torch")


def test_processes_that_time_at_once_agree(tmp_path: Path) -> None:
    """The first one's choice stays, and nothing that another one learnt is lost."""
    place = SafePath(tmp_path) / "library.kernels"
    first, second = (Library(b"built", place) for _ in range(2))
    fast, slow = (lambda: None), (lambda: time.sleep(0.003))

    def meanwhile() -> None:
        first.fastest("a product", {"torch": fast, "kernels": slow})

    first.ran.add("free_phase")
    assert second.fastest("a product", {"torch": meanwhile, "kernels": fast}) == "torch"
    second.ran.add("nudged_phase")
    second.keep()
    kept = kept_library(place)
    assert kept is not None and kept.chosen == {"a product": "torch"} and kept.ran == {"free_phase", "nudged_phase"}
