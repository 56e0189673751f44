"""Expressions of the language, each with its text and with its value: an evaluation that shares nothing with energyc.

A value is a tensor [samples or 1, an axis for each index in scope]; an axis has size 1 where nothing depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor

#: The indices in scope, each with its size, in the order of their axes.
Scope = tuple[tuple[str, int], ...]
#: The index that is the number of the step, of ``relax tick in T``.
STEP = "tick"


@dataclass
class Environment:
    """The tensors by name, [samples or 1, ...] each; ``held`` those that ``frozen(...)`` reads, ``lets`` what follows.

    A let that is read is evaluated once. ``step`` is the number of the step.
    """

    tensors: Mapping[str, Tensor]
    held: Mapping[str, Tensor]
    lets: Mapping[str, Definition]
    training: bool = True
    step: int = 0
    known: dict[str, Tensor] = field(default_factory=dict)

    def tensor(self, name: str) -> Tensor:
        """A tensor or a let by name."""
        if name in self.tensors:
            return self.tensors[name]
        if name not in self.known:
            self.known[name] = self.lets[name].value(self)
        return self.known[name]

    def frozen(self) -> Environment:
        """The environment of ``frozen(...)``: the same numbers, through which a force does not pass."""
        return replace(self, tensors={**self.tensors, **self.held}, known={})


class Expression:
    """An expression of the language."""

    def text(self) -> str:
        """As it is written, in brackets where it has parts."""
        raise NotImplementedError

    def value(self, at: Environment, scope: Scope) -> Tensor:
        """Its value: [samples or 1, an axis for each index of the scope]."""
        raise NotImplementedError


@dataclass(frozen=True)
class Definition:
    """``let q[n in N] = ...``, or another equation with indices of its own."""

    indices: Scope
    right: Expression

    def value(self, at: Environment) -> Tensor:
        """[samples or 1, the indices], in full."""
        found = self.right.value(at, self.indices)
        return found.expand(len(found), *(size for _, size in self.indices))


# -------------------------------------------------------------------- leaves


@dataclass(frozen=True)
class Constant(Expression):
    """A number as it is written, or the name of a const."""

    written: str
    number: float

    def text(self) -> str:
        return self.written

    def value(self, at: Environment, scope: Scope) -> Tensor:
        return torch.full((1,) * (len(scope) + 1), self.number, dtype=torch.float64)


@dataclass(frozen=True)
class Whole:
    """A whole number at a place: indices (or the step) with factors, an offset; or an element of an integer clamp."""

    factors: Mapping[str, int]
    offset: int = 0
    gathered: Access | None = None

    def text(self) -> str:
        if self.gathered is not None:
            return self.gathered.text()
        parts = [name if factor == 1 else f"{factor}*{name}" for name, factor in self.factors.items()]
        if self.offset or not parts:
            parts.append(str(self.offset))
        return " + ".join(parts).replace("+ -", "- ")

    def value(self, at: Environment, scope: Scope) -> Tensor:
        """A long tensor over the scope."""
        if self.gathered is not None:
            return self.gathered.value(at, scope)
        total = torch.full((1,) * (len(scope) + 1), self.offset + self.factors.get(STEP, 0) * at.step)
        for axis, (name, size) in enumerate(scope):
            if name in self.factors:
                shape = [1] * (len(scope) + 1)
                shape[axis + 1] = size
                total = total + self.factors[name] * torch.arange(size).view(shape)
        return total


@dataclass(frozen=True)
class Access(Expression):
    """An element of a tensor: ``W[d, n]``, ``x[i + p]``, ``z[idx[t]]``; places outside of it are never selected."""

    name: str
    slots: tuple[Whole, ...] = ()

    def text(self) -> str:
        return f"{self.name}[{', '.join(slot.text() for slot in self.slots)}]" if self.slots else self.name

    def value(self, at: Environment, scope: Scope) -> Tensor:
        whole = at.tensor(self.name)
        sample = torch.arange(len(whole)).view(-1, *(1,) * len(scope))
        places = [slot.value(at, scope) for slot in self.slots]
        inside = (place.clamp(0, size - 1) for place, size in zip(places, whole.shape[1:], strict=True))
        return whole[(sample, *inside)]


# -------------------------------------------------------------------- functions

#: What every argument at which a function jumps or bends is moved by.
_moved_by = 0.0


@contextmanager
def edges_moved(by: float) -> Iterator[None]:
    """Evaluate with every jump and kink elsewhere by so much: what is larger than rounding changes on an edge alone."""
    global _moved_by
    before, _moved_by = _moved_by, by
    try:
        yield
    finally:
        _moved_by = before


def _edge(u: Tensor) -> Tensor:
    return u + _moved_by if _moved_by else u


_HALF = 1 / math.sqrt(2)
UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh({})": torch.tanh,
    "sigmoid({})": torch.sigmoid,
    "relu({})": lambda u: torch.relu(_edge(u)),
    "silu({})": lambda u: u * torch.sigmoid(u),
    "softplus({})": lambda u: torch.logaddexp(u, torch.zeros_like(u)),
    "logsigmoid({})": lambda u: -torch.logaddexp(-u, torch.zeros_like(u)),
    "gelu({})": lambda u: u * 0.5 * (1 + torch.erf(u * _HALF)),
    "gelu_tanh({})": lambda u: 0.5 * u * (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3))),
    "sin({})": torch.sin,
    "cos({})": torch.cos,
    "abs({})": lambda u: torch.abs(_edge(u)),
    "sign({})": lambda u: torch.sign(_edge(u)),
    "erf({})": torch.erf,
    "softsign({})": lambda u: u / (1 + u.abs()),
    "leaky_relu({}, 1/5)": lambda u: torch.where(_edge(u) > 0, u, 0.2 * u),
    "clip({}, -1/2, 0.7)": lambda u: _edge(u).clamp(-0.5, 0.7),
    "max({}, 0.13)": lambda u: torch.where(_edge(u) > 0.13, u, 0.13),
    "min({}, 0.31, 0.6)": lambda u: torch.where(_edge(u) < 0.31, u, 0.31),
    "exp(tanh({}))": lambda u: torch.exp(torch.tanh(u)),
    "log(3/2 + tanh({}))": lambda u: torch.log(1.5 + torch.tanh(u)),
    "sqrt(1 + ({})^2)": lambda u: torch.sqrt(1 + u * u),
    "tanh({})^3": lambda u: torch.tanh(u) ** 3,
    "(3/2 + sin({}))^(-1/2)": lambda u: (1.5 + torch.sin(u)) ** -0.5,
    "tanh'({})": lambda u: 1 - torch.tanh(u) ** 2,
    "silu'({})": lambda u: torch.sigmoid(u) * (1 + u * (1 - torch.sigmoid(u))),
    "softplus'({})": torch.sigmoid,
    "(-({}))": torch.neg,
    "bend({})": lambda u: u / (1 + u * u),
    "(rise({}) - rise(0))": lambda u: torch.log(torch.cosh(u)),
}
#: Functions that a spec declares, where an expression calls them.
DECLARED = {"bend(": "fn bend(u) = u / (1 + u^2)", "rise(": "fn rise'(u) = tanh(u)"}


@dataclass(frozen=True)
class Unary(Expression):
    """A function of one number, by its form in ``UNARY``."""

    form: str
    part: Expression

    def text(self) -> str:
        return self.form.format(self.part.text())

    def value(self, at: Environment, scope: Scope) -> Tensor:
        return UNARY[self.form](self.part.value(at, scope))


BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "({} + {})": torch.add,
    "({} - {})": torch.sub,
    "({} * {})": torch.mul,
    "({} / (2 + ({})^2))": lambda a, b: a / (2 + b * b),
    "max({}, {})": lambda a, b: torch.where(_edge(a) > b, a, b),
    "min({}, 0.1 + {})": lambda a, b: torch.where(_edge(a) < 0.1 + b, a, 0.1 + b),
}


@dataclass(frozen=True)
class Binary(Expression):
    """Two expressions joined, by a form in ``BINARY``."""

    form: str
    left: Expression
    right: Expression

    def text(self) -> str:
        return self.form.format(self.left.text(), self.right.text())

    def value(self, at: Environment, scope: Scope) -> Tensor:
        return BINARY[self.form](self.left.value(at, scope), self.right.value(at, scope))


@dataclass(frozen=True)
class Stopped(Expression):
    """``frozen(...)`` or ``detach(...)``."""

    word: Literal["frozen", "detach"]
    part: Expression

    def text(self) -> str:
        return f"{self.word}({self.part.text()})"

    def value(self, at: Environment, scope: Scope) -> Tensor:
        found = self.part.value(at.frozen(), scope)
        return found.detach() if self.word == "detach" else found


# -------------------------------------------------------------------- conditions

SIGNS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "==": torch.eq,
    "!=": torch.ne,
    "<": torch.lt,
    "<=": torch.le,
    ">": torch.gt,
    ">=": torch.ge,
}


@dataclass(frozen=True)
class Compared:
    """A comparison of whole numbers, or of real ones."""

    sign: str
    left: Whole | Expression
    right: Whole | Expression

    def text(self) -> str:
        return f"{self.left.text()} {self.sign} {self.right.text()}"

    def value(self, at: Environment, scope: Scope) -> Tensor:
        left, right = self.left.value(at, scope), self.right.value(at, scope)
        return SIGNS[self.sign](_edge(left) if left.is_floating_point() else left, right)


@dataclass(frozen=True)
class Joined:
    """Conditions joined by ``and`` or ``or``, or one that is turned by ``not``."""

    word: Literal["and", "or", "not"]
    parts: tuple[Condition, ...]

    def text(self) -> str:
        if self.word == "not":
            return f"not ({self.parts[0].text()})"
        return f"({f' {self.word} '.join(part.text() for part in self.parts)})"

    def value(self, at: Environment, scope: Scope) -> Tensor:
        values = [part.value(at, scope) for part in self.parts]
        if self.word == "not":
            return ~values[0]
        return values[0] & values[1] if self.word == "and" else values[0] | values[1]


@dataclass(frozen=True)
class InTraining:
    """``training``."""

    def text(self) -> str:
        return "training"

    def value(self, at: Environment, scope: Scope) -> Tensor:
        return torch.full((1,) * (len(scope) + 1), at.training)


Condition = Compared | Joined | InTraining


@dataclass(frozen=True)
class Selected(Expression):
    """``where(condition, a, b)``."""

    condition: Condition
    first: Expression
    other: Expression

    def text(self) -> str:
        return f"where({self.condition.text()}, {self.first.text()}, {self.other.text()})"

    def value(self, at: Environment, scope: Scope) -> Tensor:
        return torch.where(self.condition.value(at, scope), self.first.value(at, scope), self.other.value(at, scope))


# -------------------------------------------------------------------- reductions


@dataclass(frozen=True)
class Reduced(Expression):
    """``sum[n in N | guard](...)`` and its like."""

    word: Literal["sum", "mean", "max", "min", "variance", "logsumexp"]
    binders: tuple[tuple[str, str, int], ...]
    body: Expression
    guard: Condition | None = None

    def text(self) -> str:
        bound = ", ".join(f"{index} in {dim}" for index, dim, _ in self.binders)
        guard = "" if self.guard is None else f" | {self.guard.text()}"
        return f"{self.word}[{bound}{guard}]({self.body.text()})"

    def value(self, at: Environment, scope: Scope) -> Tensor:
        inner = (*scope, *((index, size) for index, _, size in self.binders))
        found = self.body.value(at, inner)
        mask = torch.tensor(True) if self.guard is None else self.guard.value(at, inner)
        sizes = [size for _, _, size in self.binders]
        shape = [*_joint(found, mask)[: len(scope) + 1], *sizes]
        axes = tuple(range(len(scope) + 1, len(shape)))
        return _reduce(self.word, found.expand(shape), mask.expand(shape), axes)


def _joint(x: Tensor, mask: Tensor) -> list[int]:
    """The shape of a tensor and its mask, which has all axes or none."""
    return [max(pair) for pair in zip(x.shape, mask.shape, strict=True)] if mask.dim() else list(x.shape)


def _reduce(word: str, x: Tensor, mask: Tensor, axes: tuple[int, ...]) -> Tensor:
    """A reduction of the entries in the mask; 0 of none."""
    kept, count = torch.where(mask, x, 0.0), mask.sum(axes)
    some = count > 0
    if word == "sum":
        return kept.sum(axes)
    if word in ("mean", "variance"):
        mean = kept.sum(axes) / count.clamp_min(1)
        if word == "mean":
            return mean
        apart = torch.where(mask, x - mean.view(*mean.shape, *(1,) * len(axes)), 0.0)
        return apart.square().sum(axes) / count.clamp_min(1)
    sign = -1.0 if word == "min" else 1.0
    low = torch.where(mask, sign * x, -math.inf)
    low = torch.where(some.view(*some.shape, *(1,) * len(axes)), low, 0.0)
    top = low.flatten(x.dim() - len(axes)).max(-1).values if word != "logsumexp" else torch.logsumexp(low, axes)
    return torch.where(some, sign * top, 0.0)


@dataclass(frozen=True)
class Along(Expression):
    """A softmax or a normaliser along an index of the scope; a normaliser's part depends on it."""

    word: str
    index: str
    body: Expression
    guard: Condition | None = None

    def text(self) -> str:
        guard = "" if self.guard is None else f" | {self.guard.text()}"
        return f"{self.word}[{self.index}{guard}]({self.body.text()})"

    def value(self, at: Environment, scope: Scope) -> Tensor:
        axis = 1 + [name for name, _ in scope].index(self.index)
        size = scope[axis - 1][1]
        x = self.body.value(at, scope)
        mask = torch.tensor(True) if self.guard is None else self.guard.value(at, scope)
        shape = _joint(x, mask)
        shape[axis] = size
        x, mask = x.expand(shape), mask.expand(shape)
        if self.word == "softmax":
            top = torch.where(mask, x, -math.inf).amax(axis, keepdim=True).detach()
            weight = torch.where(mask, torch.exp(torch.where(mask, x - top, 0.0)), 0.0)
            return weight / weight.sum(axis, keepdim=True).clamp_min(1e-300)
        centred = x if self.word == "rmsnorm" else x - x.mean(axis, keepdim=True)
        return centred / torch.sqrt(centred.square().mean(axis, keepdim=True) + 1e-5)


@dataclass(frozen=True)
class Ramp(Expression):
    """``cos(1.3*n + 8.3*d)``: numbers that differ along every index."""

    indices: tuple[str, ...]

    def text(self) -> str:
        return f"cos(0.2 + {' + '.join(f'{1 + 7 * k}.3*{name}' for k, name in enumerate(self.indices))})"

    def value(self, at: Environment, scope: Scope) -> Tensor:
        total = torch.full((1,) * (len(scope) + 1), 0.2, dtype=torch.float64)
        for k, name in enumerate(self.indices):
            total = total + (1.3 + 7 * k) * Whole({name: 1}).value(at, scope).double()
        return torch.cos(total)
