"""Phases by kernels in C++."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from ..tensors.states import Tensors
from ..tensors.warning import warn_caller
from .library import Library, NoCompiler, built

KINDS = {torch.float32: "float", torch.float64: "double"}


class Kernels:
    """The kernels of a source, by name.

    Each moves states by some steps in place, ``name_phase(samples, steps, states, given, scalars, change, threads)``;
    ``change`` [batch], if it is wanted, is the relative change of the step that would follow. Of those in ``rounded``
    there is a second one, ``name_bfloat16_phase``, with the ``products`` by whose name it is taken in float32.
    """

    #: A sample is on its own in a tile, so that one batch of two phases saves nothing.
    pairs = False

    def __init__(self, source: str, names: Sequence[str], rounded: Mapping[str, str] = {}) -> None:
        self.source = source
        self.names = names
        self.rounded = rounded
        self.libraries: dict[torch.dtype, Library] = {}
        self.failure: str | None = None

    def serve(self, name: str, states: Tensors, products: str | None = None) -> bool:
        """Whether a kernel takes these states; the first time it is built, and where that fails a warning says why.

        It takes any ``products``: one that is not made for those in bfloat16 has none that would gain by it.
        """
        x = states[0]
        if name not in self.names or x.device.type != "cpu" or x.dtype not in KINDS or self.failure is not None:
            return False
        if x.dtype not in self.libraries:
            try:
                self.libraries[x.dtype] = built(self.source, KINDS[x.dtype])
            except NoCompiler as error:
                self._fail(str(error))
        return self.failure is None

    def rounds(self, name: str) -> bool:
        """Whether a kernel rounds the operands of a product where it is asked to."""
        return name in self.rounded

    def run(
        self,
        name: str,
        states: Tensors,
        given: Tensors,
        scalars: Sequence[float],
        steps: int,
        change: Tensor | None = None,
        products: str | None = None,
    ) -> bool:
        """Move the states in place; a kernel that has never run here is tried first, in a process of its own."""
        kind = states[0].dtype
        whole = [x.contiguous() for x in states]
        read = [(x.detach() if x.requires_grad else x).contiguous() for x in given]
        numbers = torch.tensor(scalars, dtype=kind)
        library = self.libraries[kind]
        rounds = kind == torch.float32 and self.rounded.get(name) == products is not None
        entry = f"{name}_bfloat16_phase" if rounds else f"{name}_phase"
        refusal = library.refusal(entry, whole, read, numbers, change)
        if refusal is not None:
            self._fail(refusal)
            return False
        function = getattr(library.loaded, entry)
        number, pointer = ctypes.c_int64, ctypes.c_void_p
        function(
            number(len(states[0])),
            number(steps),
            pointers(whole),
            pointers(read),
            pointer(numbers.data_ptr()),
            pointer(None if change is None else change.data_ptr()),
            number(torch.get_num_threads()),
        )
        for x, moved in zip(states, whole):
            if moved is not x:
                x.copy_(moved)
        return True

    def _fail(self, why: str) -> None:
        """Run as torch operations from here on, and say so."""
        self.failure = why
        warn_caller(f"the kernels run as torch operations: {why}")


def pointers(tensors: Tensors) -> ctypes.Array[ctypes.c_void_p]:
    """Where tensors are."""
    return (ctypes.c_void_p * len(tensors))(*(x.data_ptr() for x in tensors))
