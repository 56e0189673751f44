"""Random specs whose params may have no gradient: the warnings name those for which autograd gives exactly 0.

A param stands behind what no derivative passes, acts on states that the cost does not see, is read where states start,
in readouts, metrics or energies that move nothing; in a network, in a layer, or in copies of one. Each piece of a spec
is drawn with its function in torch, and the steps are differentiated by autograd alone, with and without the start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

import torch
from torch import Tensor

from energyc.pipeline import read, resolve
from tests.fuzz.cases import Find

Tensors = Mapping[str, Tensor]
Function = Callable[[Tensor], Tensor]
STEPS, SIZE, COPIES, SAMPLES, DRAWS = 6, 3, 2, 3, 6


def _mean(u: Tensor) -> Tensor:
    return u.mean(0, keepdim=True).detach().expand_as(u)


def _selected(u: Tensor) -> Tensor:
    return torch.where(u > 0, 1.0, 2.0)


#: What a param or a state may stand in, with its function in torch.
WRAPPERS: Mapping[str, Function] = {
    "{u}": lambda u: u,
    "tanh({u})": torch.tanh,
    "relu({u})": torch.relu,
    "{u}^2": torch.square,
    "frozen({u})": lambda u: u,
    "sign({u})": torch.sign,
    "sign(tanh({u}))": torch.sign,
    "detach({u})": lambda u: u.detach(),
    "where({u} > 0, 1, 2)": _selected,
    "where({u} > 0, {u}, 2*{u})": lambda u: torch.where(u > 0, u, 2 * u),
    "relu'({u})": lambda u: (u > 0).to(u.dtype),
}
#: How the force on a state reads another one.
COUPLINGS: Mapping[str, Function] = {
    "0.4*tanh({u})": lambda u: 0.4 * u.tanh(),
    "0.4*sign({u})": lambda u: 0.4 * u.sign(),
    "0.4*detach({u})": lambda u: 0.4 * u.detach(),
    "0.4*where({u} > 0, 1, 2)": lambda u: 0.4 * _selected(u),
    "0.4*mean[batch]({u})": lambda u: 0.4 * _mean(u),
}
#: Where a param is read.
SITES = ("energy", "energy", "square", "force", "force", "start", "start", "seen readout", "cost", "constant", "mean",
         "readout", "metric")  # fmt: skip
#: The sites that are outside of all blocks.
OUTSIDE = ("readout", "cost", "metric")
PLACES = ("network", "network", "layer", "repeat")


COSTS: tuple[tuple[str, Callable[[Tensor, Tensor], Tensor]], ...] = (
    ("(out[d] - t[d])^2", lambda out, t: (out - t) ** 2),
    ("t[d]*tanh(out[d])", lambda out, t: t * out.tanh()),
    ("sign(out[d])*t[d]", lambda out, t: out.sign() * t),
    ("where(out[d] > 0, t[d], 1)", lambda out, t: torch.where(out > 0, t, 1.0)),
)


@dataclass
class Drawn:
    """A spec in pieces, each with what it adds in torch to an energy, a force, a start or the cost."""

    place: str
    rule: str
    states: list[str]
    #: The params, whether each is declared in the block.
    params: dict[str, bool]
    energies: list[tuple[str, Callable[[Tensors, Tensors], Tensor]]] = field(default_factory=list)
    forces: list[tuple[str, str, Callable[[Tensors, Tensors], Tensor]]] = field(default_factory=list)
    starts: dict[str, tuple[str, Callable[[Tensors], Tensor]]] = field(default_factory=dict)
    seen: list[tuple[str, Callable[[Tensors, Tensors], Tensor]]] = field(default_factory=list)
    readouts: list[str] = field(default_factory=list)
    #: The cost of what is read, with the target.
    cost: tuple[str, Callable[[Tensor, Tensor], Tensor]] = COSTS[0]
    #: What the cost and metrics read of params alone.
    direct: list[tuple[str, Callable[[Tensors], Tensor]]] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The spec."""
        own = [f"param {name}[D] ~ normal(1)" for name, inside in self.params.items() if inside]
        shared = [f"param {name}[D] ~ normal(1)" for name, inside in self.params.items() if not inside]
        head = ["network n", f"dim D = {SIZE}, L = {COPIES}", "clamp x[D]", "target t[D]", *shared]
        if self.place == "network":
            head += [*own, *self.block(), f"let out[d] = {self.shown()}"]
        elif self.place == "layer":
            head += ["layer inner {", *own, *self.block(), "}", f"let out[d] = {self.shown()}"]
        else:
            head += ["repeat L {", *own, "state h[D]", "start h[d] = x[d]", "layer inner {", *self.block(), "}"]
            head += [f"next h[d] = h[d] + {self.shown()}", "}", "let out[d] = h[d]"]
        head += [f"readout r{k}[d] = ({u})*out[d]" for k, u in enumerate(self.readouts)]
        cost = " + ".join([self.cost[0], *(text for text, _ in self.direct)])
        head += [f"cost c = sum[d]({cost})", *(f"metric m{k} = sum[d]({u})" for k, u in enumerate(self.metrics))]
        return "\n".join([*head, f"train {{ rule = {self.rule} }}"]) + "\n"

    def block(self) -> list[str]:
        """What relaxes."""
        source = "h" if self.place == "repeat" else "x"
        lines = [f"state {name}[D]" for name in self.states]
        lines += [f"start {name}[d] = {text}" for name, (text, _) in self.starts.items()]
        lines += [f"energy base_{name} = 1/2*sum[d](({name}[d] - {source}[d])^2)" for name in self.states]
        lines += [f"energy e{k} = {text}" for k, (text, _) in enumerate(self.energies)]
        lines += [f"force f{k} on {on}[d] = {text}" for k, (on, text, _) in enumerate(self.forces)]
        return [*lines, f"relax {{ step = 0.2, steps = {STEPS} }}"]

    def shown(self) -> str:
        """What is read of the states."""
        prefix = "" if self.place == "network" else "inner."
        return " + ".join(text.replace("@", prefix) for text, _ in self.seen)


def drawn(seed: int) -> Drawn:
    """The spec of a seed."""
    rng = Random(f"untrained {seed}")
    place = rng.choice(PLACES)
    names = [f"p{k}" for k in range(rng.randint(2, 5))]
    inside = {name: place != "network" and rng.random() < 0.6 for name in names}
    spec = Drawn(place, rng.choice(["bptt", "implicit"]), [f"z{k}" for k in range(rng.randint(1, 3))], inside)
    for k, to in enumerate(spec.states[1:], 1):
        _couple(spec, spec.states[rng.randrange(k)], to, rng)
    spec.seen.append(_seen(rng.choice(spec.states)))
    for name in names:
        for _ in range(rng.choice((1, 1, 1, 2))):
            _place(spec, name, rng)
    spec.cost = rng.choices(COSTS, [6, 6, 1, 1])[0]
    return spec


def _seen(state: str) -> tuple[str, Callable[[Tensors, Tensors], Tensor]]:
    return f"@{state}[d]", lambda z, p: z[state]


def _couple(spec: Drawn, one: str, other: str, rng: Random) -> None:
    """By an energy of both, or by a force from one on the other, either way."""
    if rng.random() < 0.3:
        spec.energies.append((f"0.3*sum[d]({one}[d]*{other}[d])", lambda z, p: 0.3 * (z[one] * z[other]).sum()))
        return
    source, on = rng.sample([one, other], 2)
    text, function = rng.choices([*COUPLINGS.items()], [4, 1, 1, 1, 1])[0]
    spec.forces.append((on, text.format(u=f"{source}[d]"), lambda z, p: function(z[source])))


def _place(spec: Drawn, name: str, rng: Random) -> None:
    """Read a param somewhere, in something."""
    (form, wrap), state = (
        rng.choices([*WRAPPERS.items()], [6, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1])[0],
        rng.choice(spec.states),
    )
    u, site = form.format(u=f"{name}[d]"), rng.choice(SITES)
    hidden = {"network": (), "layer": ("seen readout", *OUTSIDE), "repeat": OUTSIDE}[spec.place]
    if (spec.params[name] and site in hidden) or (site == "start" and state in spec.starts):
        site = "force"
    if site == "energy":
        spec.energies.append((f"-0.3*sum[d]({u}*{state}[d])", lambda z, p: -0.3 * (wrap(p[name]) * z[state]).sum()))
    elif site in ("square", "constant"):
        joined, times = ("*", torch.mul) if site == "square" else (" + ", torch.add)
        text = f"0.1*sum[d](({u}){joined}{state}[d]^2)"
        spec.energies.append((text, lambda z, p: 0.1 * times(wrap(p[name]), z[state] ** 2).sum()))
    elif site == "force":
        spec.forces.append((state, f"0.3*({u})", lambda z, p: 0.3 * wrap(p[name])))
    elif site == "mean":
        text = f"0.3*mean[batch](({u})*{state}[d])"
        spec.forces.append((state, text, lambda z, p: 0.3 * _mean(wrap(p[name]) * z[state])))
    elif site == "start":
        spec.starts[state] = (u, lambda p: wrap(p[name]))
    elif site == "seen readout":
        spec.seen.append((f"({u})*@{state}[d]", lambda z, p: wrap(p[name]) * z[state]))
    elif site == "cost":
        spec.direct.append((f"0.2*({u})", lambda p: 0.2 * wrap(p[name])))
    elif site == "metric":
        spec.metrics.append(u)
    else:
        spec.readouts.append(u)


# -------------------------------------------------------------------- by autograd


def trained(spec: Drawn, seed: int, starts: bool) -> set[str]:
    """The params by which the cost has a gradient at some of the drawn values."""
    generator, found = torch.Generator().manual_seed(seed), set[str]()
    copies = COPIES if spec.place == "repeat" else 1
    for _ in range(DRAWS):
        x, t = (torch.randn(SAMPLES, SIZE, generator=generator, dtype=torch.float64) for _ in range(2))
        leaves = {
            name: torch.randn(copies if own else 1, SIZE, generator=generator, dtype=torch.float64, requires_grad=True)
            for name, own in spec.params.items()
        }
        h = x
        for copy in range(copies):
            params = {name: leaf[copy if spec.params[name] else 0] for name, leaf in leaves.items()}
            out = _answer(spec, h, params, starts)
            h = h + out
        answer = h if spec.place == "repeat" else out
        cost = spec.cost[1](answer, t).sum()
        cost = cost + sum((each(params).sum() for _, each in spec.direct), torch.zeros((), dtype=torch.float64))
        if cost.requires_grad:
            slopes = torch.autograd.grad(cost, list(leaves.values()), allow_unused=True)
            found |= {
                name for name, slope in zip(leaves, slopes, strict=True) if slope is not None and bool(slope.any())
            }
    return found


def _answer(spec: Drawn, source: Tensor, params: Tensors, starts: bool) -> Tensor:
    """What is seen of the states after all steps."""
    z: dict[str, Tensor] = {}
    for name in spec.states:
        start = spec.starts[name][1](params).expand_as(source) if name in spec.starts else torch.zeros_like(source)
        z[name] = (start if starts else start.detach()).clone()
    for _ in range(STEPS):
        z = {name: z[name] + 0.2 * force for name, force in _forces(spec, z, source, params).items()}
    return sum((each(z, params) for _, each in spec.seen), torch.zeros_like(source))


def _forces(spec: Drawn, z: Tensors, source: Tensor, params: Tensors) -> dict[str, Tensor]:
    """The force on each state: minus the slope of the energies, and what is written as forces."""
    at = {name: value if value.requires_grad else value.requires_grad_() for name, value in z.items()}
    energy = sum((0.5 * ((value - source) ** 2).sum() for value in at.values()), torch.zeros((), dtype=torch.float64))
    for _, each in spec.energies:
        energy = energy + each(at, params)
    slopes = torch.autograd.grad(energy, list(at.values()), create_graph=True)
    total = {name: -slope for name, slope in zip(at, slopes, strict=True)}
    for on, _, each in spec.forces:
        total[on] = total[on] + each(at, params)
    return total


def warned(text: str, code: str) -> set[str]:
    """The params that a warning names, without their layer."""
    found = [each.message.split("`")[1] for each in resolve(read(text)).warnings if each.code == code]
    return {name.rpartition(".")[2] for name in found}


def case(seed: int) -> Find | None:
    """A spec whose warnings are not what autograd says."""
    spec = drawn(seed)
    text, whole, at_rest = spec.text(), trained(spec, seed, starts=True), trained(spec, seed, starts=False)
    never = spec.params.keys() - whole
    by_rule = {*whole} - at_rest if spec.rule == "implicit" else set[str]()
    for code, expected in {"W0401": never, "W0404": by_rule}.items():
        found = warned(text, code)
        if found != expected:
            missed, false = sorted(expected - found), sorted(found - expected)
            return Find(f"{code} is {'missing' if missed else 'false'}", f"{text}\nmissed: {missed}, false: {false}")
    return None
