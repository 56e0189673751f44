"""The operators, registered with torch: their fake kernels, derivatives and batching rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from energyc.code.operators import calls
from energyc.code.operators.calls import Call

Dims = list[int | None] | None
#: The fields of a ``Call``, which a graph holds as plain values.
SETTINGS = len(Call._fields)
_CALL = (
    "str module, SymInt number, bool[] there, str rule, bool allow_biased, SymInt? steps, float? step, float? tolerance"
)
_GIVEN = f"{_CALL}, bool training, Tensor[] inputs, Tensor[] params, Tensor[] start"


def _operator(name: str, function: Callable[..., list[Tensor]], more: str = "") -> Any:
    """An operator of torch whose function is given a ``Call`` and lists of tensors."""

    def run(*given: Any) -> list[Tensor]:
        return function(Call(*given[:SETTINGS]), *given[SETTINGS:])

    schema = f"({_GIVEN}{more}) -> Tensor[]"
    return torch.library.custom_op(f"energyc::{name}", run, mutates_args=(), schema=schema)


#: Readouts, states, residual and steps of a call; readouts alone are differentiable.
called = _operator("call", calls.answers)
#: States, residual and steps of a relaxation.
relaxed = _operator("relax", calls.rest)
#: Slopes by inputs and params of slopes by the readouts.
called_back = _operator("call_back", calls.slopes, ", Tensor[] ends, Tensor[] cotangents")

# -------------------------------------------------------------------- fake kernels: shapes


def _shapes(call: Call, inputs: Sequence[Tensor], params: Sequence[Tensor], readouts: bool) -> list[Tensor]:
    net, like = call.net, next(iter([*inputs, *params]), None)
    count = inputs[0].shape[0] if inputs else 1
    like = torch.empty(0, device=net.device) if like is None else like

    def empty(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        return like.new_empty((count, *shape), dtype=dtype, device=net.device)

    shapes = [*(net.readout_shapes.values() if readouts else ()), *net.state_shapes.values(), ()]
    return [*(empty(shape, net.dtype) for shape in shapes), empty((), torch.int64)]


def _slopes(*given: Any) -> list[Tensor]:
    inputs, params = given[SETTINGS : SETTINGS + 2]
    return [torch.empty_like(x, memory_format=torch.contiguous_format) for x in (*inputs, *params)]


called.register_fake(lambda *given: _shapes(Call(*given[:SETTINGS]), given[SETTINGS], given[SETTINGS + 1], True))
relaxed.register_fake(lambda *given: _shapes(Call(*given[:SETTINGS]), given[SETTINGS], given[SETTINGS + 1], False))
called_back.register_fake(_slopes)


# -------------------------------------------------------------------- derivatives


def _keep(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    call = Call(*inputs[:SETTINGS])
    lists, count = inputs[SETTINGS:], len(call.net.readout_shapes)
    ctx.call, ctx.counts = call, [*map(len, lists), len(call.net.state_shapes), count]
    ends, readouts = output[count : count + ctx.counts[3]], output[:count]
    ctx.save_for_backward(*(x for part in (*lists, ends, readouts) for x in part))
    ctx.reals = [[x.is_floating_point() for x in part] for part in lists[:2]]


def _back(ctx: Any, cotangents: Sequence[Tensor | None]) -> tuple[Any, ...]:
    saved = iter(ctx.saved_tensors)
    inputs, params, start, ends, readouts = ([next(saved) for _ in range(count)] for count in ctx.counts)
    given = [torch.zeros_like(x) if c is None else c for x, c in zip(readouts, cotangents, strict=False)]
    found = torch.ops.energyc.call_back(*ctx.call, inputs, params, start, ends, given)
    reals = [real for part in ctx.reals for real in part]
    slopes = [slope if real else None for slope, real in zip(found, reals, strict=True)]
    count = len(inputs)
    return *([None] * SETTINGS), slopes[:count], slopes[count:], [None] * len(start)


def _no_second_derivative(ctx: Any, cotangents: Sequence[Tensor | None]) -> Any:
    raise RuntimeError("a network of energyc is differentiated once: its gradient has no derivative")


def _nothing(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    pass


called.register_autograd(_back, setup_context=_keep)
called_back.register_autograd(_no_second_derivative, setup_context=_nothing)


# -------------------------------------------------------------------- batching rules


def _at(x: Tensor, dim: int | None, index: int) -> Tensor:
    return x if dim is None else x.select(dim, index)


def _dims(dims: Any, values: Sequence[Tensor]) -> list[int | None]:
    return list(dims) if isinstance(dims, list | tuple) else [dims] * len(values)


def _one_by_one(
    operator: Any, size: int, in_dims: Sequence[Any], args: Sequence[Any]
) -> tuple[list[Tensor], list[int]]:
    """Each element of the batch by a call of its own."""
    lists = [(values, _dims(dims, values)) for values, dims in zip(args[SETTINGS:], in_dims[SETTINGS:], strict=True)]
    found = [
        operator(*args[:SETTINGS], *([_at(x, dim, k) for x, dim in zip(*part, strict=True)] for part in lists))
        for k in range(size)
    ]
    stacked = [torch.stack(parts) for parts in zip(*found, strict=True)]
    return stacked, [0] * len(stacked)


def _as_samples(operator: Any) -> Any:
    """Batched inputs of one network as more samples; params of several networks one by one."""

    def rule(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[list[Tensor], list[int]]:
        inputs, params, start = args[SETTINGS:]
        dims = [_dims(d, values) for d, values in zip(in_dims[SETTINGS:], (inputs, params, start), strict=True)]
        size = info.batch_size
        mates = getattr(Call(*args[:SETTINGS]).net, "coupled", True)
        if mates or not inputs or any(dim is not None for dim in dims[1]):
            return _one_by_one(operator, size, in_dims, args)

        def joined(x: Tensor, dim: int | None) -> Tensor:
            whole = x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)
            return whole.reshape(-1, *whole.shape[2:])

        samples = [joined(x, dim) for x, dim in zip(inputs, dims[0], strict=True)]
        found = operator(
            *args[:SETTINGS], samples, params, [joined(x, dim) for x, dim in zip(start, dims[2], strict=True)]
        )
        return [x.reshape(size, len(x) // size, *x.shape[1:]) for x in found], [0] * len(found)

    return rule


called.register_vmap(_as_samples(called))
relaxed.register_vmap(_as_samples(relaxed))
called_back.register_vmap(lambda info, in_dims, *args: _one_by_one(called_back, info.batch_size, in_dims, args))
