"""The work of an operator on real tensors: the network's own methods, on the params that it is given."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.func import functional_call

from energyc.code.operators.known import Handle, network


class Call(NamedTuple):
    """The part of a call that a graph holds beside its tensors.

    ``there`` says of each clamp and then of each noise whether it is among the inputs.
    """

    module: str
    number: int
    there: Sequence[bool]
    rule: str
    allow_biased: bool
    steps: int | None
    step: float | None
    tolerance: float | None
    training: bool

    @property
    def net(self) -> Any:
        """The network. Raises ValueError."""
        return network(Handle(self.module, self.number))

    def named(self, inputs: Sequence[Tensor]) -> dict[str, Tensor]:
        """The clamps and noises by name."""
        names = (*self.net.clamp_shapes, *self.net.noise_shapes)
        return dict(zip(itertools.compress(names, self.there), inputs, strict=True))

    def settings(self, start: Sequence[Tensor]) -> dict[str, Any]:
        """The settings of the free phase, as ``relax`` takes them."""
        given = {"steps": self.steps, "step": self.step, "tolerance": self.tolerance}
        return {**given, "states": self.states(start)} if start else given

    @property
    def way(self) -> dict[str, Any]:
        """The rule that autograd goes by, as a call takes it; layers alone have rules that are biased."""
        return {"rule": self.rule, **({"allow_biased": self.allow_biased} if hasattr(self.net, "layers") else {})}

    def states(self, values: Sequence[Tensor]) -> dict[str, Tensor]:
        """States by name."""
        return dict(zip(self.net.state_shapes, values, strict=True))


def answers(call: Call, inputs: Sequence[Tensor], params: Sequence[Tensor], start: Sequence[Tensor]) -> list[Tensor]:
    """Readouts, states, residual and steps."""
    with mode(call.net, call.training):
        readouts, rest = on_params(
            call.net, params, call.named(inputs), **call.way, relaxed=True, **call.settings(start)
        )
    return over(list(readouts.values()), rest)


def rest(call: Call, inputs: Sequence[Tensor], params: Sequence[Tensor], start: Sequence[Tensor]) -> list[Tensor]:
    """States, residual and steps."""
    with mode(call.net, call.training):
        found = on_params(call.net, params, call.named(inputs), _relaxes_=True, **call.settings(start))
    return over([], found)


def over(readouts: Sequence[Tensor], rest: Any) -> list[Tensor]:
    """Tensors of their own, each with all samples."""
    count = len(rest.residual)
    values = [*readouts, *rest.states.values(), rest.residual, rest.steps]
    return [x.detach().expand(count, *x.shape[1:]).clone(memory_format=torch.contiguous_format) for x in values]


def slopes(
    call: Call,
    inputs: Sequence[Tensor],
    params: Sequence[Tensor],
    start: Sequence[Tensor],
    ends: Sequence[Tensor],
    cotangents: Sequence[Tensor],
) -> list[Tensor]:
    """The slopes by inputs and params, zeros where nothing comes back, of slopes by the readouts.

    At a rest they are taken where the call ended; by the other ways the network relaxes once more. Noise has none.
    """
    ends_there = call.rule == "implicit" and not hasattr(call.net, "layers")
    settings = {"steps": 0, "states": call.states(ends)} if ends_there else call.settings(start)
    named = {k: leaf(x) if k in call.net.clamp_shapes else x.detach() for k, x in call.named(inputs).items()}
    given, owned = [*named.values()], [leaf(x) for x in params]
    with torch.enable_grad(), differentiating(), mode(call.net, call.training):
        readouts = on_params(call.net, owned, named, **call.way, **settings)
        pairs = [(x, c) for x, c in zip(readouts.values(), cotangents, strict=True) if x.requires_grad]
        leaves = [x for x in (*given, *owned) if x.requires_grad]
        values, back = zip(*pairs, strict=True) if pairs else ((), ())
        back = tuple(c.sum_to_size(x.shape) for x, c in pairs)
        found = torch.autograd.grad(values, leaves, back, allow_unused=True) if pairs else [None] * len(leaves)
    known = dict(zip(map(id, leaves), found, strict=True))
    return [zeros_unless(known.get(id(x)), x) for x in (*given, *owned)]


def leaf(x: Tensor) -> Tensor:
    """The same numbers, by which autograd differentiates where they are real."""
    return x.detach().requires_grad_(x.is_floating_point())


def zeros_unless(slope: Tensor | None, x: Tensor) -> Tensor:
    """A slope by a tensor, in a memory of its own."""
    return torch.zeros_like(x, memory_format=torch.contiguous_format) if slope is None else slope.clone().contiguous()


def on_params(net: Any, params: Sequence[Tensor], clamps: Mapping[str, Tensor], **settings: Any) -> Any:
    """A call of a network, or with ``_relaxes_`` a relaxation, with these tensors in the place of its params."""
    names = [name for name, _ in net.named_parameters()]
    return functional_call(net, dict(zip(names, params, strict=True)), (clamps,), settings)


def differentiating() -> Any:
    """Where autograd sees operations again, which torch calls an operator below."""
    included, excluded = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
    hidden = [name for name in map(str, torch._C.DispatchKey.__members__) if name.startswith(("Autograd", "ADInplace"))]
    for name in hidden:
        excluded = excluded.remove(getattr(torch._C.DispatchKey, name))
    return torch._C._ForceDispatchKeyGuard(included, excluded)


@contextmanager
def mode(net: Any, training: bool) -> Iterator[None]:
    """The network in the mode that it was traced in."""
    before = net.training
    if before != training:
        net.train(training)
    try:
        yield
    finally:
        if before != training:
            net.train(before)
