"""The writer of nodes as PyTorch expressions: tensors, and convolutions where torch has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from energyc.code.module.symbols import Symbols
from energyc.code.targets.arrays.code import Code
from energyc.code.targets.arrays.nodes import ArrayWriter
from energyc.code.targets.torch.code import TorchCode
from energyc.code.targets.torch.conv import ConvolutionWriter
from energyc.mathematics.ir import Einsum


class TorchWriter(ArrayWriter):
    """Writes nodes as PyTorch expressions of what is already named."""

    kind: ClassVar[type[Code]] = TorchCode

    def __init__(self, symbols: Symbols, letters: Mapping[str, str]) -> None:
        super().__init__(symbols, letters)
        self._convolution = ConvolutionWriter(self.sizes, self.code, lambda: self.names)

    def convolution(self, node: Einsum) -> Code | None:
        """The einsum as a convolution of torch."""
        return self._convolution.write(node)

    def kernel_gradient(self, node: Einsum) -> Code | None:
        """The einsum as torch's slope of a convolution by its kernel."""
        return self._convolution.kernel_gradient(node)
