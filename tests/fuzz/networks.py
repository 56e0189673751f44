"""Networks as the fuzzer draws them: their text, and by autograd what they do, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from tests.fuzz.expressions import DECLARED, STEP, Definition, Environment, Scope

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Declared:
    """A tensor: its dims, the dim that integers lie in, the rest of its declaration (a law, a value)."""

    name: str
    dims: tuple[str, ...]
    over: str | None = None
    law: str = ""

    def text(self) -> str:
        dims = f"[{', '.join(self.dims)}]" if self.dims else ""
        return f"{self.name}{dims}{f' : {self.over}' if self.over else ''}{self.law}"


@dataclass(frozen=True)
class State(Declared):
    """A state, the set that it is kept in (along a dim), and its start."""

    kept: str = ""
    along: str = ""
    start: Definition | None = None

    def text(self) -> str:
        kept = f" in {self.kept}{f'[{self.along}]' if self.along else ''}" if self.kept else ""
        return f"{super().text()}{kept}"

    def projected(self, x: Tensor) -> Tensor:
        """The nearest point of its set: [samples, ...]."""
        axis = 1 + self.dims.index(self.along) if self.along else 0
        match self.kept:
            case "[-1, 1]":
                return x.clamp(-1, 1)
            case "[0, 1]":
                return x.clamp(0, 1)
            case "[0.01, 0.99]":
                return x.clamp(0.01, 0.99)
            case "nonnegative":
                return x.clamp(min=0)
            case "sphere":
                return x / x.square().sum(axis, keepdim=True).sqrt()
            case "standardized":
                apart = x - x.mean(axis, keepdim=True)
                return apart / apart.square().mean(axis, keepdim=True).sqrt()
            case "simplex":
                return _on_simplex(x.movedim(axis, -1)).movedim(-1, axis)
        return x


def _on_simplex(x: Tensor) -> Tensor:
    """The support by bisection, then the threshold that makes the sum 1."""
    low, high = x.amin(-1, keepdim=True) - 1, x.amax(-1, keepdim=True)
    for _ in range(200):
        middle = (low + high) / 2
        above = (x - middle).clamp(min=0).sum(-1, keepdim=True) > 1
        low, high = torch.where(above, middle, low), torch.where(above, high, middle)
    support = (x > high).detach()
    threshold = (torch.where(support, x, 0.0).sum(-1, keepdim=True) - 1) / support.sum(-1, keepdim=True)
    return (x - threshold).clamp(min=0)


@dataclass(frozen=True)
class Flow:
    """``flow z = -rate * grad(energies, by) + drive``; ``by`` is the state, or a let of its dims."""

    rate: str
    energies: tuple[str, ...]
    by: str
    drive: Definition


@dataclass
class Relaxing:
    """States and the terms that move them, in the file or in a layer.

    ``paces`` are the steps of states with a ``next`` value, where that is not 1. Steps that are ``numbered`` run over a
    dim, whose size is ``steps``.
    """

    states: list[State] = field(default_factory=list)
    params: list[Declared] = field(default_factory=list)
    lets: dict[str, Definition] = field(default_factory=dict)
    energies: dict[str, Definition] = field(default_factory=dict)
    forces: dict[str, tuple[str, Definition]] = field(default_factory=dict)
    flows: dict[str, Flow] = field(default_factory=dict)
    nexts: dict[str, Definition] = field(default_factory=dict)
    paces: dict[str, float] = field(default_factory=dict)
    numbered: str = ""
    step: float | str = 0.2
    steps: int = 3
    settings: str = ""
    nudge: str = ""

    # ------------------------------------------------------------ the text

    def lines(self) -> list[str]:
        """The statements."""
        found = [f"param {param.text()}" for param in self.params]
        found += [f"state {state.text()}" for state in self.states]
        for state in self.states:
            if state.start is not None:
                found.append(f"start {_left(state.name, state.start.indices)} = {state.start.right.text()}")
        found += [_equation("let", name, made, self) for name, made in self.lets.items()]
        found += [_equation("energy", name, made, self) for name, made in self.energies.items()]
        for name, (state, made) in self.forces.items():
            found.append(f"force {name} on {_left(state, made.indices)} = {made.right.text()}")
        for state, flow in self.flows.items():
            indices = flow.drive.indices
            gradient = f"-{flow.rate} * grad({' + '.join(flow.energies)}, {_left(flow.by, indices)})"
            found.append(f"flow {_left(state, indices)} = {gradient} + {flow.drive.right.text()}")
        for state, made in self.nexts.items():
            found.append(f"next {_left(state, made.indices)} = {made.right.text()}")
        found.append(self._settings())
        return [*found, self.nudge] if self.nudge else found

    def _settings(self) -> str:
        """The block ``relax``: a step that no state takes is left out, and a number of steps that a dim gives."""
        word = f"relax {STEP} in {self.numbered}" if self.numbered else "relax"
        settings = [f"step = {self.step}"] if len(self.nexts) < len(self.states) else []
        settings += [] if self.numbered else [f"steps = {self.steps}"]
        settings += [f"step.{state} = {pace}" for state, pace in self.paces.items()]
        return f"{word} {{ {', '.join([*settings, 'proximal = off'])}{self.settings} }}"

    # ------------------------------------------------------------ what it does

    def starts(self, given: Tensors, lets: Mapping[str, Definition], samples: int, training: bool) -> Tensors:
        """The states at the start, each on its set."""
        at = Environment(given, {}, {**lets, **self.lets}, training)
        found = {}
        for state in self.states:
            assert state.start is not None
            value = state.start.value(at)
            found[state.name] = state.projected(value.expand(samples, *value.shape[1:]))
        return found

    def energy(
        self, states: Tensors, given: Tensors, lets: Mapping[str, Definition], training: bool = True
    ) -> dict[str, Tensor]:
        """The energies, [samples or 1] each."""
        at = Environment({**given, **states}, states, {**lets, **self.lets}, training)
        return {name: _sample_sums(made.value(at)) for name, made in self.energies.items()}

    def force(
        self,
        states: Tensors,
        given: Tensors,
        lets: Mapping[str, Definition],
        training: bool = True,
        number: int | None = None,
    ) -> Tensors:
        """How each state moves in the step of a number, by default the last; differentiable."""
        number = self.steps - 1 if number is None else number
        with torch.enable_grad():
            own = {name: (x if x.requires_grad else x.clone().requires_grad_()) for name, x in states.items()}
            active = {name: x.clone() for name, x in own.items()}
            every = {**lets, **self.lets}
            at = Environment({**given, **active}, own, every, training, number)
            at_rest = Environment({**given, **own}, own, every, training, number)
            named = {energy for flow in self.flows.values() for energy in flow.energies}
            acting = [made for name, made in self.energies.items() if name not in named]
            total = sum((made.value(at).sum() for made in acting), torch.zeros(()))
            found = {}
            for name, x in active.items():
                if name in self.nexts:
                    found[name] = self.nexts[name].value(at_rest) - own[name]
                    continue
                flow = self.flows.get(name)
                moved = -_slope(total, x) if flow is None else self._flowing(flow, own, at_rest)
                for state, made in self.forces.values():
                    moved = moved + (made.value(at_rest) if state == name else 0.0)
                found[name] = moved
        return found

    def _flowing(self, flow: Flow, own: Tensors, plain: Environment) -> Tensor:
        by = plain.tensor(flow.by).clone()
        by = by if by.requires_grad else by.requires_grad_()
        held = {**own, flow.by: plain.tensor(flow.by)}
        at = replace(plain, tensors={**plain.tensors, flow.by: by}, held=held, known={})
        total = sum((self.energies[name].value(at).sum() for name in flow.energies), torch.zeros(()))
        return -float(flow.rate) * _slope(total, by) + flow.drive.value(plain)

    def relaxed(
        self, states: Tensors, given: Tensors, lets: Mapping[str, Definition], training: bool, back: int | None = None
    ) -> Tensors:
        """The states after all steps; differentiable through the last ``back``, by default through the start too."""
        for number in range(self.steps):
            if back is not None and number == max(0, self.steps - back):
                states = {name: x.detach() for name, x in states.items()}
            force = self.force(states, given, lets, training, number)
            states = {s.name: s.projected(states[s.name] + self.pace(s.name) * force[s.name]) for s in self.states}
        return states

    def pace(self, state: str) -> float:
        """The step size of a state."""
        return self.paces.get(state, 1.0) if state in self.nexts else float(self.step)


def _slope(total: Tensor, by: Tensor) -> Tensor:
    if not total.requires_grad:
        return torch.zeros_like(by)
    (slope,) = torch.autograd.grad(total, by, create_graph=True, allow_unused=True)
    return torch.zeros_like(by) if slope is None else slope


@dataclass
class Spec:
    """A network: one that relaxes, or one around a layer, maybe in a ``repeat`` of ``copies``.

    ``back`` is the number of steps that ``tbptt`` goes through.
    """

    name: str
    sizes: dict[str, int]
    relaxing: Relaxing
    clamps: list[Declared] = field(default_factory=list)
    noises: list[Declared] = field(default_factory=list)
    targets: list[Declared] = field(default_factory=list)
    params: list[Declared] = field(default_factory=list)
    ties: dict[str, str] = field(default_factory=dict)
    lets: dict[str, Definition] = field(default_factory=dict)
    readouts: dict[str, Definition] = field(default_factory=dict)
    cost: str = ""
    further: list[str] = field(default_factory=list)
    back: int = 1
    layer: str = ""
    copies: str = ""
    stream: tuple[str, tuple[str, ...], Definition, Definition] | None = None

    # ------------------------------------------------------------ the text

    def text(self) -> str:
        """The spec."""
        lines = [f"network {self.name}", "dim " + ", ".join(f"{name} = {size}" for name, size in self.sizes.items())]
        lines += ["const gamma = 0.7, tau = 1/3"]
        lines += [f"clamp {clamp.text()}" for clamp in self.clamps]
        lines += [f"noise {noise.text()}" for noise in self.noises]
        lines += [f"target {target.text()}" for target in self.targets]
        lines += [f"param {param.text()}" for param in self.params]
        lines += [f"tie {tie}[a,b] = {param}[b,a]" for tie, param in self.ties.items()]
        lines += [_equation("let", name, made, self.relaxing) for name, made in self.lets.items()]
        lines += self._blocks() if self.layer else self.relaxing.lines()
        for name, made in self.readouts.items():
            lines.append(f"readout {_bound(name, made.indices, self.sizes_of(made))} = {made.right.text()}")
        body = "\n".join([*lines, self.cost, *self.further]) + "\n"
        declared = [text for call, text in DECLARED.items() if call in body]
        first, second, *rest = body.split("\n")
        return "\n".join([first, second, *declared, *rest])

    def _blocks(self) -> list[str]:
        inner = [f"layer {self.layer} {{", *(f"  {line}" for line in self.relaxing.lines()), "}"]
        if self.stream is None:
            return inner
        name, dims, start, following = self.stream
        around = [f"state {name}[{', '.join(dims)}]", f"start {_left(name, start.indices)} = {start.right.text()}"]
        after = f"next {_left(name, following.indices)} = {following.right.text()}"
        return [f"repeat {self.copies} {{", *(f"  {line}" for line in [*around, *inner, after]), "}"]

    def sizes_of(self, made: Definition) -> list[str]:
        """The dim of each index, by the first letter that they share."""
        return [dim_of(index) for index, _ in made.indices]

    # ------------------------------------------------------------ what it does

    def tied(self, given: Tensors) -> Tensors:
        """The tensors with ties among them."""
        return {**given, **{tie: given[param].transpose(-1, -2) for tie, param in self.ties.items()}}

    def at_rest(
        self, given: Tensors, samples: int, training: bool = True, back: int | None = None
    ) -> tuple[Tensors, Tensors]:
        """The states where they end, [samples, copies, ...] in a repeat, and all that answers may read.

        Without layers they are differentiable through the last ``back`` steps, by default through all and the start.
        """
        given = self.tied(given)
        if not self.layer:
            relaxing = self.relaxing
            states = relaxing.starts(given, self.lets, samples, training)
            states = relaxing.relaxed(states, given, self.lets, training, back)
            return states, {**given, **states}
        copies = self.sizes[self.copies] if self.copies else 1
        found: list[Tensors] = []
        for copy in range(copies):
            self._visit(copy, given, samples, training, found)
        states = {
            f"{self.layer}.{name}": torch.stack([own[name] for own in found], 1) if self.copies else found[0][name]
            for name in (state.name for state in self.relaxing.states)
        }
        return states, {**given, **({} if self.copies else states)}

    def _visit(self, copy: int, given: Tensors, samples: int, training: bool, found: list[Tensors]) -> None:
        if self.stream is not None and copy == 0:
            value = self.stream[2].value(Environment(given, {}, self.lets, training))
            given[self.stream[0]] = value.expand(samples, *value.shape[1:])
        own = {p.name: given[f"{self.layer}.{p.name}"] for p in self.relaxing.params}
        if self.copies:
            own = {name: value[:, copy] for name, value in own.items()}
        inside = {**given, **own}
        states = self.relaxing.starts(inside, self.lets, samples, training)
        found.append(self.relaxing.relaxed(states, inside, self.lets, training))
        if self.stream is not None:
            read = {**given, **{f"{self.layer}.{name}": value for name, value in found[-1].items()}}
            value = self.stream[3].value(Environment(read, {}, self.lets, training))
            given[self.stream[0]] = value.expand(samples, *value.shape[1:])

    def answers(self, read: Tensors, training: bool = True) -> Tensors:
        """The readouts."""
        inner = {} if self.layer else self.relaxing.lets
        at = Environment(read, {}, {**self.lets, **inner}, training)
        return {name: made.value(at) for name, made in self.readouts.items()}

    def costs(self, read: Tensors, targets: Tensors, training: bool = True) -> Tensor:
        """The cost of each sample: half the square of what the first readout misses."""
        name, aim = next(iter(self.readouts)), self.targets[0].name
        return _sample_sums((self.answers(read, training)[name] - targets[aim]).square()) / 2


def dim_of(index: str) -> str:
    """The dim of an index that the fuzzer named: ``n12`` runs over N."""
    return index[0].upper()


def _left(name: str, indices: Scope) -> str:
    return f"{name}[{', '.join(index for index, _ in indices)}]" if indices else name


def _bound(name: str, indices: Scope, dims: Sequence[str]) -> str:
    bound = ", ".join(f"{index} in {dim}" for (index, _), dim in zip(indices, dims, strict=True))
    return f"{name}[{bound}]" if indices else name


def _equation(word: str, name: str, made: Definition, relaxing: Relaxing) -> str:
    by = {flow.by for flow in relaxing.flows.values()}
    dims = [dim_of(index) for index, _ in made.indices]
    left = _left(name, made.indices) if name in by else _bound(name, made.indices, dims)
    return f"{word} {left} = {made.right.text()}"


def _sample_sums(x: Tensor) -> Tensor:
    """The sum of each sample: [samples]."""
    return x.reshape(len(x), -1).sum(1)
