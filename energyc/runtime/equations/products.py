"""Matrix products on operands with fewer digits; states, sums and all else keep theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from types import MappingProxyType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..tensors.warning import warn_caller
from .equations import Equations

#: The operations of torch that equations write products in.
PRODUCTS = frozenset(
    {
        torch.einsum,
        torch.matmul,
        Tensor.matmul,
        Tensor.__matmul__,
        Tensor.__rmatmul__,
        *(F.conv1d, F.conv2d, F.conv3d),
        *(F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d),
    }
)
#: How torch calls the formats in which a GPU takes the operands of float32 products.
FORMATS = {"float32": "ieee", "tf32": "tf32"}
#: Products in bfloat16; ``contrast``: but for those of forces in phases whose difference is the gradient.
ROUNDED = ("bfloat16", "contrast")


class RoundedProducts(TorchFunctionMode):
    """Inside of it products of float32 take operands rounded to bfloat16.

    They are added up in float32, and the result is rounded to bfloat16 before it is float32 again.
    """

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute, a product with rounded operands; a sum over one tensor alone is none."""
        if function not in PRODUCTS or sum(isinstance(x, Tensor) for x in args) < 2:
            return function(*args, **(kwargs or {}))
        low = [x.bfloat16() if isinstance(x, Tensor) and x.dtype == torch.float32 else x for x in args]
        value = function(*low, **(kwargs or {}))
        return value.float() if value.dtype == torch.bfloat16 else value


@contextmanager
def products_in(products: str | None, device: torch.device) -> Iterator[None]:
    """Products of float32 inside of it take operands in ``float32``, ``tf32`` or ``bfloat16``; None: as torch is set.

    Torch's own settings are afterwards what they were. A CPU has no tf32, of which a warning tells.
    """
    if products in ROUNDED:
        with RoundedProducts():
            yield
    elif products is None or device.type != "cuda":
        if products == "tf32":
            warn_caller(f"products in tf32 are products in float32 on the device {device}")
        yield
    else:
        flags: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn.conv)  # type: ignore[attr-defined]
        before = [flag.fp32_precision for flag in flags]
        try:
            for flag in flags:
                flag.fp32_precision = FORMATS[products]
            yield
        finally:
            for flag, precision in zip(flags, before):
                flag.fp32_precision = precision


@contextmanager
def with_products(net: Equations, products: str | None) -> Iterator[None]:
    """The network has other products inside of it."""
    before = net.products
    if products == before:
        yield
        return
    net.products = products
    try:
        yield
    finally:
        net.products = before


#: An equation of a network.
Equation = Callable[..., Any]
#: The products inside of a context, by how the network has them.
Products = Callable[[Any], AbstractContextManager[None]]


def rounded(net: Equations) -> AbstractContextManager[None]:
    """Products as the network has them."""
    return products_in(net.products, net.device)


def contrasted(net: Equations) -> AbstractContextManager[None]:
    """The same in what moves phases, whose difference may be the gradient."""
    return products_in("float32" if net.products == "contrast" else net.products, net.device)


@contextmanager
def in_full(net: Equations) -> Iterator[None]:
    """Products in float32 where the network has any of its own."""
    with net._precise(), products_in(net.products, net.device):
        yield


#: The equations whose products are those of the network, by how they take them.
TAKEN: Mapping[str, Products] = MappingProxyType(
    {
        **dict.fromkeys("_force _block _slopes _nudge _cost_vjp".split(), contrasted),
        **dict.fromkeys(
            "_force_vjp _step_vjp _force_jvp _correction _hold _predictions _prediction_vjp _held_correction".split(),
            rounded,
        ),
        **dict.fromkeys(
            (
                "_prepare _start _clamped _terms _families _readouts _cost _metrics _sums_gradient "
                "_sums_clamp_gradient _energy_gradient _energy_contrast _descent_gradient _user_force_gradient "
                "_nonconservative_force"
            ).split(),
            in_full,
        ),
    }
)


def taking(products: Products, equation: Equation) -> Equation:
    """Return an equation of a network that is computed with some products."""

    @wraps(equation)
    def with_products(self: Any, *args: Any, **kwargs: Any) -> Any:
        with products(self):
            return equation(self, *args, **kwargs)

    return with_products


class RoundedEquations(Equations):
    """Equations whose products take operands in ``products``: those that a class below this one states.

    These are the force, the nudge and their derivatives, which every step evaluates. What is computed once is not
    rounded: a contrast is a small difference of slopes. Nor are, to bfloat16, forces in phases whose difference is the
    gradient: rounding is as large as that. What turns these phases is by their difference, and is rounded.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Give the equations of a class their products."""
        super().__init_subclass__(**keywords)
        for name in TAKEN.keys() & vars(cls).keys():
            setattr(cls, name, taking(TAKEN[name], vars(cls)[name]))

    def _contrasting(self) -> AbstractContextManager[None]:
        """Products where phases move whose difference is the gradient."""
        return with_products(self, "contrast" if self.products == "bfloat16" else self.products)

    def _precise(self) -> AbstractContextManager[None]:
        """Products in float32 for a linear solve, which rounded ones would keep from its end."""
        return with_products(self, self.products and "float32")

    def _rounding(self) -> float:
        """The relative rounding error of the operands of products."""
        own = super()._rounding()
        if self.dtype != torch.float32 or (self.products == "tf32" and self.device.type != "cuda"):
            return own
        return {"tf32": 2.0**-10, "bfloat16": 2.0**-7}.get(self.products or "", own)
