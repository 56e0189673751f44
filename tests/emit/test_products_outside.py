"""Products outside of phases: by the library of kernels as by torch, at awkward sizes and strides."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from torch import Tensor

from energyc import pipeline
from energyc.resources import resource
from energyc.runtime.kernels import products
from energyc.runtime.kernels.library import Library
from energyc.runtime.kernels.products import ProductKernels, walked
from tests.emit.kernels import SPECS, drawn, needs_compiler, shipped

HEADERS = ("kernels.h", "product.h")


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> ProductKernels:
    """Kernels that make every product that they can."""
    monkeypatch.setenv("CXXFLAGS", "-O1")
    monkeypatch.setattr(products, "LEAST", 0)
    monkeypatch.setattr(products, "FEWEST", 1)
    monkeypatch.setattr(products, "SHARE", 1)
    walked.cache_clear()
    texts = [(Path(str(resource("codegen"))) / "cpp" / header).read_text() for header in HEADERS]
    return ProductKernels("\n".join(texts), ("free",))


@pytest.fixture(autouse=True)
def _as_it_was() -> object:
    yield
    walked.cache_clear()


def _strided(shape: list[int], random: Random, dtype: torch.dtype) -> Tensor:
    """A tensor whose axes lie in memory in any order, some of them with gaps."""
    order = random.sample(range(len(shape)), len(shape))
    gaps = [random.choice((0, 0, 3)) for _ in shape]
    whole = torch.randn(*(shape[k] + gaps[k] for k in order), dtype=torch.float64).to(dtype)
    moved = whole.permute(*(order.index(k) for k in range(len(shape))))
    for k, size in enumerate(shape):
        moved = moved.narrow(k, 0, size)
    return moved


def _case(random: Random) -> tuple[str, dict[str, int]]:
    """An equation of a batch, rows, columns and terms, none of them to three labels, in any order; and its sizes."""
    letters = iter("abcdefghijkl")
    batch, rows, columns, terms = ([next(letters) for _ in range(random.randint(low, 2))] for low in (0, 0, 1, 0))
    sizes = {x: random.choice((1, 2, 3, 9, 17)) for x in (*batch, *rows, *columns)}
    sizes |= {x: random.choice((1, 2, 19, 300)) if len(terms) == 1 else random.choice((1, 5, 20)) for x in terms}
    left, right, out = ([*batch, *rows, *terms], [*batch, *columns, *terms], [*batch, *rows, *columns])
    for labels in (left, right, out):
        random.shuffle(labels)
    if not left:
        left, rows = ["z"], ["z"]
        out, sizes["z"] = ["z", *out], 2
    operands = [left, right]
    random.shuffle(operands)
    return f"{''.join(operands[0])},{''.join(operands[1])}->{''.join(out)}", sizes


@needs_compiler
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("threads", [1, 3])
def test_random_products(kernels: ProductKernels, dtype: torch.dtype, threads: int) -> None:
    seed = Random().randrange(10**9)
    print(f"seed {seed}")
    random, made, before = Random(seed), 0, torch.get_num_threads()
    torch.manual_seed(seed)
    try:
        torch.set_num_threads(threads)
        for _ in range(150):
            equation, sizes = _case(random)
            first, _, rest = equation.partition(",")
            second = rest.partition("->")[0]
            a, b = (_strided([sizes[x] for x in labels], random, dtype) for labels in (first, second))
            found = kernels._product(equation, a, b)
            if found is None:
                continue
            made += 1
            exact = torch.einsum(equation, a.double(), b.double())
            bound = torch.einsum(equation, a.double().abs(), b.double().abs())
            assert found.is_contiguous()
            assert bool(((found - exact).abs() <= 40 * torch.finfo(dtype).eps * bound).all()), (seed, equation, sizes)
    finally:
        torch.set_num_threads(before)
    assert made > 50


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


@needs_compiler
@pytest.mark.parametrize("name", ["hopfield", pytest.param("thick", marks=pytest.mark.slow)])
def test_an_update_makes_its_products_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of an update's gradients, with every product by kernels, are those of torch."""
    monkeypatch.setenv("CXXFLAGS", "-O1")
    monkeypatch.setattr(products, "LEAST", 0)
    monkeypatch.setattr(products, "FEWEST", 1)
    walked.cache_clear()
    network = shipped(next(p for p in SPECS if p.stem == name))
    rules = [network.train.trained_by, "bptt", "implicit"]
    nets = [
        pipeline.instantiate(pipeline.emit(network, rules, target=target, runtime="import"), "cpu", torch.float64, 0)
        for target in ("cpp", "torch")
    ]
    made: list[str] = []
    own = ProductKernels._product

    def counted(self: ProductKernels, equation: str, a: Tensor, b: Tensor) -> Tensor | None:
        found = own(self, equation, a, b)
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
