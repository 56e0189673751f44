"""Products outside of phases by the library of kernels: what depends on clamps alone, contrasts, slopes by params."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from energyc.runtime.kernels.cpp_kernels import KINDS, Kernels, pointers

#: Multiplications from which on a product is worth a call from Python.
LEAST = 2**19
#: Multiplications that are worth a thread of their own.
SHARE = 2**22
#: The fewest rows, columns and terms that packing a matrix is worth.
FEWEST = 16


class Walk(NamedTuple):
    """How a product walks through memory: the sizes of what it makes, and two tables of whole numbers.

    ``counts`` are the numbers of labels of the batch, of rows, columns and terms; ``labels`` has for each its size and
    its strides in the left matrix, the right one and the result. With ``turned`` the second operand is the left one.
    ``shares`` is the most parts that are each enough for a thread.
    """

    sizes: tuple[int, ...]
    counts: Tensor
    labels: Tensor
    turned: bool
    shares: int


class ProductKernels(Kernels):
    """Kernels whose library also makes products of two tensors, where it is faster than torch.

    ``chosen`` tells which of both makes a product, by what it is timed as; a run keeps that to go on as it began.
    """

    def __init__(self, source: str, names: Sequence[str], rounded: Mapping[str, str] = {}) -> None:
        super().__init__(source, names, rounded)
        self.chosen: dict[str, str] = {}

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        """``a @ b``: [..., n] times [n, m]; where both are transposed in memory, so is what it gives."""
        if not 2 <= a.dim() < len(MATMULS) + 2 or b.dim() != 2:
            return a @ b
        if a.dim() == 2 and a.stride(0) == 1 and b.stride(1) != 1:
            found = self._product("ab,bz->za", a, b, lambda: a @ b)
            return a @ b if found is None else found.T
        found = self._product(MATMULS[a.dim() - 2], a, b, lambda: a @ b)
        return a @ b if found is None else found

    def einsum(self, equation: str, a: Tensor, b: Tensor) -> Tensor:
        """``torch.einsum(equation, a, b)``, where each label of an operand is in the other one or in the result."""
        found = self._product(equation, a, b, lambda: torch.einsum(equation, a, b))
        return torch.einsum(equation, a, b) if found is None else found

    def _product(self, equation: str, a: Tensor, b: Tensor, usual: Callable[[], Tensor]) -> Tensor | None:
        """The product; None where torch is to make it, as ``usual``.

        That is where it is small, where autograd looks on, where no kernel takes it, and where torch was faster when
        both were timed. Where products take rounded operands it does, and its result is not rounded.
        """
        rounds = rounds_operands()
        if a.dtype != b.dtype or not (plain(a, rounds) and plain(b, rounds)):
            return None
        rounds = rounds and a.dtype == torch.float32
        if rounds and not self.rounded:
            return None
        walk = walked(equation, a.shape, a.stride(), b.shape, b.stride())
        if walk is None or not self.serve(next(iter(self.names), ""), [a]):
            return None
        library, none = self.libraries[a.dtype], torch.empty(0, dtype=a.dtype)
        given = [walk.counts, walk.labels, *((b, a) if walk.turned else (a, b))]
        entry = "rounded_product" if rounds else "whole_product"
        if entry not in library.ran:
            refusal = library.refusal(entry, [a.new_empty(walk.sizes)], given, none, None)
            if refusal is not None:
                self._fail(refusal)
                return None
        by_kernel = partial(made, getattr(library.loaded, entry), a.new_empty, walk, given)
        if not rounds:
            task = about(equation, a, b)
            if task not in self.chosen:
                self.chosen[task] = library.fastest(task, {"torch": usual, "kernels": by_kernel})
            if self.chosen[task] == "torch":
                return None
        return by_kernel()


def made(function: Any, empty: Callable[[tuple[int, ...]], Tensor], walk: Walk, given: Sequence[Tensor]) -> Tensor:
    """The product by a function of the library, in memory of its own."""
    out, number, pointer = empty(walk.sizes), ctypes.c_int64, ctypes.c_void_p
    threads = number(torch.get_num_threads())
    function(number(walk.shares), number(0), pointers([out]), pointers(given), pointer(None), pointer(None), threads)
    return out


#: ``@`` of two tensors, the first of two labels and more.
MATMULS = ("ab,bz->az", "abc,cz->abz", "abcd,dz->abcz", "abcde,ez->abcdz")


def about(equation: str, a: Tensor, b: Tensor) -> str:
    """What a product is timed as: its sizes to the next power of two, how its operands lie, dtype and threads.

    So a batch of which some samples are left out is not timed anew.
    """
    sizes = ("x".join(str(1 << (n - 1).bit_length()) for n in x.shape) for x in (a, b))
    lies = ("".join(map(str, sorted(range(x.dim()), key=x.stride))) for x in (a, b))
    return " ".join([equation, *sizes, *lies, KINDS[a.dtype], str(torch.get_num_threads())])


def rounds_operands() -> bool:
    """Whether all that stands before operations of torch is the rounding of the operands of products."""
    if torch._C._len_torch_function_stack() != 1:
        return False
    return getattr(torch.overrides._get_current_function_mode(), "rounds_operands", False)


def plain(x: Tensor, rounds: bool = False) -> bool:
    """Whether a tensor is memory of the CPU that no transformation of torch stands before, but for what rounds it."""
    return (
        type(x) in (Tensor, torch.nn.Parameter)
        and x.device.type == "cpu"
        and x.dtype in KINDS
        and not (x.requires_grad and torch.is_grad_enabled())
        and not torch._C._are_functorch_transforms_active()
        and torch._C._len_torch_function_stack() == rounds
        and not x.is_conj()
        and not x.is_neg()
    )


@lru_cache(maxsize=512)
def walked(
    equation: str, a: tuple[int, ...], a_strides: tuple[int, ...], b: tuple[int, ...], b_strides: tuple[int, ...]
) -> Walk | None:
    """How a product of tensors of these sizes and strides walks; None where it is none, or a small one.

    The last label of the result is one of the columns, which are next to each other; the operand that has it is the
    right matrix.
    """
    operands, _, out = equation.partition("->")
    first, second = operands.split(",")
    names = (first, second, out)
    if not all(names) or any(len(set(x)) < len(x) for x in names) or not set(first) ^ set(second) <= set(out):
        return None
    size = {**dict(zip(first, a)), **dict(zip(second, b))}
    if any(size[x] != n for x, n in (*zip(first, a), *zip(second, b))):
        return None
    shared = set(first) & set(second)
    turned = out[-1] not in second
    left, right = (second, first) if turned else (first, second)
    adjacent = len(out) - next((k for k, x in enumerate(out[::-1]) if x in left), len(out))
    columns = list(out[adjacent:])
    rows = [x for x in out if x in left and x not in shared]
    batch = [x for x in out[:adjacent] if x in right]
    runs = batch, rows, columns, [x for x in left if x in shared and x not in out]
    counts = [math.prod(size[x] for x in run) for run in runs]
    whole = math.prod(counts)
    if not columns or min(counts[1:]) < FEWEST or whole < LEAST:
        return None
    sizes = tuple(size[x] for x in out)
    strides = {x: math.prod(sizes[k + 1 :]) for k, x in enumerate(out)}
    lefts, rights = dict(zip(first, a_strides)), dict(zip(second, b_strides))
    if turned:
        lefts, rights = rights, lefts
    labels = [[size[x], lefts.get(x, 0), rights.get(x, 0), strides.get(x, 0)] for run in runs for x in run]
    return Walk(sizes, torch.tensor([len(run) for run in runs]), torch.tensor(labels), turned, max(1, whole // SHARE))
