"""Scalar functions in PyTorch: the forms of the table applied to an argument."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from energyc.code.emit.code import ATOM, PRODUCT, UNARY, Code

_LEVELS: Mapping[str, int] = MappingProxyType({"atom": ATOM, "power": UNARY, "product": PRODUCT})


def apply(template: str, u: Code, binds: str = "atom") -> Code:
    """A function's form for an argument; ``binds`` as in :class:`energyc.mathematics.functions.Form`."""
    return Code(template.format(u=u.text, atom=u.at(ATOM)), _LEVELS[binds], True)
