"""Products of two tensors at random, by the library of kernels and by torch: awkward sizes, strides and orders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from unittest.mock import patch

import torch
from torch import Tensor

from energyc.resources import resource
from energyc.runtime.kernels import products
from energyc.runtime.kernels.library import Library
from energyc.runtime.kernels.products import ProductKernels, walked

HEADERS = ("kernels.h", "product.h")


@contextmanager
def every_product() -> Iterator[ProductKernels]:
    """Kernels that make every product that they can, however small."""
    texts = [(Path(str(resource("codegen"))) / "cpp" / header).read_text() for header in HEADERS]
    with patch.multiple(products, LEAST=0, FEWEST=1, SHARE=1), patch.object(Library, "fastest", always_kernels):
        walked.cache_clear()
        yield ProductKernels("\n".join(texts), ("free",))
    walked.cache_clear()


def always_kernels(library: Library, task: str, ways: Mapping[str, object]) -> str:
    """In place of what is faster here."""
    return "kernels"


def check_products(kernels: ProductKernels, random: Random, dtype: torch.dtype, count: int) -> int:
    """Compare so many products with torch's in float64, and return how many of them the kernels made."""
    torch.manual_seed(random.randrange(2**31))
    return sum(_agrees(kernels, random, dtype) for _ in range(count))


def _agrees(kernels: ProductKernels, random: Random, dtype: torch.dtype) -> bool:
    """Whether the kernels made a product, which must then be right."""
    equation, sizes = _case(random)
    operands = equation.partition("->")[0].split(",")
    a, b = (_strided([sizes[x] for x in labels], random, dtype) for labels in operands)
    found = kernels._product(equation, a, b, lambda: torch.einsum(equation, a, b))
    if found is None:
        return False
    exact = torch.einsum(equation, a.double(), b.double())
    bound = torch.einsum(equation, a.double().abs(), b.double().abs())
    assert found.is_contiguous()
    assert bool(((found - exact).abs() <= 40 * torch.finfo(dtype).eps * bound).all()), (equation, sizes)
    return True


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
