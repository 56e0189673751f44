"""In JAX, by both calling styles: a whole phase under one jit with ``fori_loop``, and a loop of jitted steps.

Convolutions inside of a ``fori_loop`` miss XLA's fast path on a CPU, small steps are slow one by one; the faster style
counts. The names are those of the specs; JAX is imported here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.against.cases import STEPS, Problem, Way
from benchmarks.against.networks import S_OF_THICK, box

Arrays = Mapping[str, Any]

jax.config.update("jax_enable_x64", True)


class Network:
    """A network as one writes it; all but ``fixed`` take what ``fixed`` returned."""

    def fixed(self, p: Arrays, c: Arrays) -> Arrays:
        """The tensors that steps need of clamps: once a relaxation."""
        raise NotImplementedError

    def start(self, p: Arrays, c: Arrays) -> Arrays:
        """The states before the first step."""
        raise NotImplementedError

    def energy(self, z: Arrays, p: Arrays, c: Arrays) -> Any:
        """The energy, summed over the batch."""
        raise NotImplementedError

    def force(self, z: Arrays, p: Arrays, c: Arrays) -> Arrays:
        """Minus the gradient of the energy."""
        return jax.tree.map(jnp.negative, jax.grad(self.energy)(dict(z), p, c))

    def cost(self, z: Arrays, p: Arrays, c: Arrays, t: Arrays) -> Any:
        """The cost, summed over the batch."""
        raise NotImplementedError

    def project(self, z: Arrays) -> Arrays:
        """States on their sets."""
        return z


def one_hot(label: Any, like: Any) -> Any:
    """Labels as rows of zeros with a one, as long as the last dim of ``like``."""
    return jax.nn.one_hot(label, like.shape[-1], dtype=like.dtype)


def layer_norm(x: Any) -> Any:
    """Mean 0, deviation 1 along the last dim, with torch's epsilon."""
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)


def crossed(logits: Any, label: Any) -> Any:
    """The cross-entropy of labels: [...]."""
    return jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, label[..., None], -1)[..., 0]


class Hopfield(Network):
    """One hidden layer in [0, 1], the output in [-1, 2]; the force is written out."""

    def fixed(self, p: Arrays, c: Arrays) -> Arrays:
        return {"drive": c["x"] @ p["W1"] + p["b1"]}

    def start(self, p: Arrays, c: Arrays) -> Arrays:
        drive = c["drive"]
        return {"s": jnp.zeros_like(drive), "y": jnp.zeros((len(drive), len(p["b2"])), drive.dtype)}

    def energy(self, z: Arrays, p: Arrays, c: Arrays) -> Any:
        s, y = z["s"], z["y"]
        return 0.5 * ((s * s).sum() + (y * y).sum()) - (c["drive"] * s).sum() - ((s @ p["W2"] + p["b2"]) * y).sum()

    def force(self, z: Arrays, p: Arrays, c: Arrays) -> Arrays:
        s, y = z["s"], z["y"]
        return {"s": y @ p["W2"].T + c["drive"] - s, "y": s @ p["W2"] + p["b2"] - y}

    def cost(self, z: Arrays, p: Arrays, c: Arrays, t: Arrays) -> Any:
        return 0.5 * ((z["y"] - one_hot(t["label"], z["y"])) ** 2).sum()

    def project(self, z: Arrays) -> Arrays:
        return {name: jnp.clip(x, *box(name)) for name, x in z.items()}


class HopfieldConv(Hopfield):
    """Two convolutions with max pooling, as a maximum over a reshaped array, and a linear output."""

    def layer(self, x: Any, kernel: Any, bias: Any) -> Any:
        """A convolution and the maxima of its windows of 2 x 2."""
        made = lax.conv_general_dilated(x, kernel, (1, 1), "VALID") + bias[:, None, None]
        batch, channels, side = made.shape[:3]
        return made.reshape(batch, channels, side // 2, 2, side // 2, 2).max((3, 5))

    def fixed(self, p: Arrays, c: Arrays) -> Arrays:
        return {"drive": self.layer(c["x"], p["W1"], p["b1"])}

    def start(self, p: Arrays, c: Arrays) -> Arrays:
        drive = c["drive"]
        shapes = {"s1": drive.shape[1:], "s2": p["W3"].shape[1:], "y": p["b3"].shape}
        return {name: jnp.zeros((len(drive), *shape), drive.dtype) for name, shape in shapes.items()}

    def energy(self, z: Arrays, p: Arrays, c: Arrays) -> Any:
        full = jnp.einsum("koij,boij->bk", p["W3"], z["s2"]) + p["b3"]
        leak = 0.5 * sum((x * x).sum() for x in z.values())
        second = self.layer(z["s1"], p["W2"], p["b2"])
        return leak - (z["s1"] * c["drive"]).sum() - (z["s2"] * second).sum() - (z["y"] * full).sum()

    def force(self, z: Arrays, p: Arrays, c: Arrays) -> Arrays:
        return Network.force(self, z, p, c)


class Thick(Network):
    """An equilibrium transformer block: attention and feed-forward are forces without an energy."""

    def fixed(self, p: Arrays, c: Arrays) -> Arrays:
        return {"x": S_OF_THICK * (p["tok"][c["idx"]] + p["pos"])}

    def start(self, p: Arrays, c: Arrays) -> Arrays:
        return {"z": c["x"]}

    def energy(self, z: Arrays, p: Arrays, c: Arrays) -> Any:
        return 0.5 * ((z["z"] - c["x"]) ** 2 + z["z"] ** 2).sum()

    def without_energy(self, z: Any, p: Arrays) -> Any:
        """Both forces of the block."""
        normal = layer_norm(z)
        n1, n2 = normal * p["g1"] + p["h1"], normal * p["g2"] + p["h2"]
        q, k, v = (jnp.einsum("btd,hda->bhta", n1, p[f"W_{name}"]) for name in "qkv")
        scores = jnp.einsum("bhta,bhsa->bhts", q, k) * q.shape[-1] ** -0.5
        weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf))
        attention = jnp.einsum("bhta,had->btd", jnp.einsum("bhts,bhsa->bhta", weights, v), p["W_o"])
        return attention + jax.nn.gelu(n2 @ p["W1"] + p["b1"], approximate=True) @ p["W2"] + p["b2"]

    def force(self, z: Arrays, p: Arrays, c: Arrays) -> Arrays:
        return {"z": self.without_energy(z["z"], p) + c["x"] - 2 * z["z"]}

    def cost(self, z: Arrays, p: Arrays, c: Arrays, t: Arrays) -> Any:
        logits = z["z"] @ p["W_head"]
        return crossed(logits, t["label"]).mean(-1).sum()


class Cet(Network):
    """The Convergent Energy Transformer; its force is the gradient of its energy, the encoder's drive hoisted."""

    gamma = 0.25

    def __init__(self, stride: int) -> None:
        self.stride = stride

    def seen(self, x: Any, kernel: Any) -> Any:
        """Patches times a kernel: [batch, G, G, D]."""
        return lax.conv_general_dilated(x, kernel, (self.stride, self.stride), "VALID").transpose(0, 2, 3, 1)

    def fixed(self, p: Arrays, c: Arrays) -> Arrays:
        return {"drive": self.seen(c["x"], p["W_enc"]) + p["b_enc"] + p["b_pos"], "x": c["x"]}

    def start(self, p: Arrays, c: Arrays) -> Arrays:
        return {"z": c["drive"], "y": jnp.zeros_like(c["x"])}

    def energy(self, z: Arrays, p: Arrays, c: Arrays) -> Any:
        tokens, y = z["z"].reshape(len(z["z"]), -1, z["z"].shape[-1]), z["y"]
        q, k = (jnp.einsum("btd,had->bhta", tokens, p[name]) for name in ("W_q", "W_k"))
        level = jax.nn.logsumexp(self.gamma * jnp.einsum("bhsa,bhta->bhst", q, k), -1)
        memory = jax.nn.relu(tokens @ p["W_mem"])
        linear = (z["z"] * (c["drive"] + self.seen(y, p["W_dec"]))).sum()
        decoded = 0.5 * (y * y).sum() - (y * p["b_dec"][:, None, None]).sum()
        return 0.5 * (tokens * tokens).sum() + decoded - linear - (memory * memory).sum() - level.sum() / self.gamma

    def cost(self, z: Arrays, p: Arrays, c: Arrays, t: Arrays) -> Any:
        return ((z["y"] - t["t"]) ** 2).mean((1, 2, 3)).sum()

    def project(self, z: Arrays) -> Arrays:
        centred = z["z"] - z["z"].mean(-1, keepdims=True)
        return {**z, "z": centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True))}


class EnergyTransformer(Network):
    """The Energy Transformer on image patches: minus the gradient of its energy by the tokens' layer norm."""

    def fixed(self, p: Arrays, c: Arrays) -> Arrays:
        side = p["W_enc"].shape[-1]
        hid = c["hidden"][:, ::side, ::side, None]
        seen = lax.conv_general_dilated(c["img"], p["W_enc"], (side, side), "VALID").transpose(0, 2, 3, 1) + p["b_enc"]
        return {"x": hid * p["MASK"] + (1 - hid) * seen + p["pos"]}

    def start(self, p: Arrays, c: Arrays) -> Arrays:
        return {"x": c["x"]}

    def norm(self, x: Any, p: Arrays) -> Any:
        """The tokens' layer norm, its scale a number."""
        return p["gamma"] * layer_norm(x) + p["delta"]

    def of_norm(self, g: Any, p: Arrays) -> Any:
        """The energy of normalised tokens [batch, N, D], summed over the batch."""
        q, k = (jnp.einsum("btd,yhd->bhty", g, p[name]) for name in ("W_q", "W_k"))
        beta = q.shape[-1] ** -0.5
        scores = beta * jnp.einsum("bhty,bhsy->bhts", q, k)
        others = ~jnp.eye(scores.shape[-1], dtype=bool)
        level = jax.nn.logsumexp(jnp.where(others, scores, -jnp.inf), -1)
        memory = jax.nn.relu(g @ p["xi"].T)
        return -level.sum() / beta - 0.5 * (memory * memory).sum()

    def force(self, z: Arrays, p: Arrays, c: Arrays) -> Arrays:
        x = z["x"]
        tokens = self.norm(x, p).reshape(len(x), -1, x.shape[-1])
        return {"x": -jax.grad(self.of_norm)(tokens, p).reshape(x.shape)}

    def cost(self, z: Arrays, p: Arrays, c: Arrays, t: Arrays) -> Any:
        out = jnp.einsum("bijd,dcpr->bijcpr", self.norm(z["x"], p), p["W_dec"]) + p["b_dec"]
        batch, tokens, colours, side = len(out), out.shape[1], out.shape[3], out.shape[4]
        aim = t["t"].reshape(batch, colours, tokens, side, tokens, side).transpose(0, 2, 4, 1, 3, 5)
        counted = t["counted"][:, ::side, ::side]
        return ((counted * ((out - aim) ** 2).mean((3, 4, 5))).sum((1, 2)) / counted.sum((1, 2))).sum()


class Deq(Network):
    """A deep equilibrium layer, z = tanh(W z + U x + b), a full step at a time."""

    def fixed(self, p: Arrays, c: Arrays) -> Arrays:
        return {"drive": c["x"] @ p["U"].T + p["b"]}

    def start(self, p: Arrays, c: Arrays) -> Arrays:
        return {"z": jnp.zeros_like(c["drive"])}

    def force(self, z: Arrays, p: Arrays, c: Arrays) -> Arrays:
        return {"z": jnp.tanh(z["z"] @ p["W"].T + c["drive"]) - z["z"]}

    def cost(self, z: Arrays, p: Arrays, c: Arrays, t: Arrays) -> Any:
        return crossed(z["z"] @ p["W_out"].T + p["b_out"], t["label"]).sum()


class ModernHopfield(Network):
    """Retrieval from memories by softmax; the force is written out."""

    beta = 8

    def fixed(self, p: Arrays, c: Arrays) -> Arrays:
        return c

    def start(self, p: Arrays, c: Arrays) -> Arrays:
        return {"z": c["probe"]}

    def energy(self, z: Arrays, p: Arrays, c: Arrays) -> Any:
        level = jax.nn.logsumexp(self.beta * (z["z"] @ p["X"].T), -1)
        return 0.5 * (z["z"] ** 2).sum() - level.sum() / self.beta

    def force(self, z: Arrays, p: Arrays, c: Arrays) -> Arrays:
        return {"z": jax.nn.softmax(self.beta * (z["z"] @ p["X"].T)) @ p["X"] - z["z"]}

    def cost(self, z: Arrays, p: Arrays, c: Arrays, t: Arrays) -> Any:
        return ((z["z"] - t["stored"]) ** 2).mean(-1).sum()


class Edges(Network):
    """The Energy Transformer on the edges of a graph, its force by sums over segments."""

    def fixed(self, p: Arrays, c: Arrays) -> Arrays:
        nodes = c["feature"].shape[1]
        first = nodes * jnp.arange(len(c["src"]))[:, None]  # all samples are one graph
        ends = {name: (c[name] + first).ravel() for name in ("src", "dst")}
        return {"x": c["feature"] @ p["W_in"] + p["lambda"], **ends}

    def start(self, p: Arrays, c: Arrays) -> Arrays:
        return {"x": c["x"]}

    def norm(self, x: Any, p: Arrays) -> Any:
        """The layer norm of nodes, its scale a number."""
        return p["gamma"] * layer_norm(x) + p["delta"]

    def force(self, z: Arrays, p: Arrays, c: Arrays) -> Arrays:
        g = self.norm(z["x"], p).reshape(-1, z["x"].shape[-1])
        q, k = (jnp.einsum("nd,yhd->nhy", g, p[name]) for name in ("W_q", "W_k"))
        sent, asked = k[c["src"]], q[c["dst"]]
        scores = p["beta"] * (sent * asked).sum(-1)
        largest = jax.ops.segment_max(lax.stop_gradient(scores), c["dst"], len(g))
        weights = jnp.exp(scores - largest[c["dst"]])
        weights = (weights / jax.ops.segment_sum(weights, c["dst"], len(g))[c["dst"]])[..., None]
        to, fro = (jax.ops.segment_sum(weights * x, c[end], len(g)) for x, end in ((sent, "dst"), (asked, "src")))
        attention = jnp.einsum("nhy,yhd->nd", to, p["W_q"]) + jnp.einsum("nhy,yhd->nd", fro, p["W_k"])
        return {"x": (attention + jax.nn.relu(g @ p["xi"].T) @ p["xi"]).reshape(z["x"].shape)}

    def cost(self, z: Arrays, p: Arrays, c: Arrays, t: Arrays) -> Any:
        first, last = self.norm(c["x"], p), self.norm(z["x"], p)
        logit = jax.nn.relu(first @ p["U0"].T + last @ p["U1"].T + p["b_u"]) @ p["w"] + p["b_w"]
        anomalous, scored = t["anomalous"], t["scored"]
        sigma = ((scored * (1 - anomalous)).sum(1) / (scored * anomalous).sum(1))[:, None]
        each = sigma * anomalous * jax.nn.log_sigmoid(logit) + (1 - anomalous) * jax.nn.log_sigmoid(-logit)
        return -((scored * each).sum(1) / scored.sum(1)).sum()


def network(spec: str, sizes: Mapping[str, int]) -> Network:
    """The network of a spec at its sizes."""
    made = {
        "hopfield": Hopfield,
        "hopfield_conv": HopfieldConv,
        "thick": Thick,
        "et_image": EnergyTransformer,
        "deq": Deq,
        "modern_hopfield": ModernHopfield,
        "et_anomaly": Edges,
    }
    return Cet(sizes["stride"]) if spec == "cet" else made[spec]()


class Rules:
    """Phases and updates of a network, as functions of (params, clamps, targets); one subclass for each style."""

    def __init__(self, problem: Problem, net: Network) -> None:
        self.case, self.net, self.size, self.batch = problem.case, net, problem.step, problem.batch
        self.tolerance = problem.tolerance

    def step(self, z: Arrays, p: Arrays, c: Arrays, t: Arrays, beta: Any) -> Arrays:
        """A step; ``beta`` None is one of a free phase."""
        force = self.net.force(z, p, c)
        if beta is not None:
            slope = jax.grad(self.net.cost)(dict(z), p, c, t)
            force = {name: f - beta * slope[name] for name, f in force.items()}
        return self.net.project({name: x + self.size[name] * force[name] for name, x in z.items()})

    def walk(self, z: Arrays, p: Arrays, c: Arrays, t: Arrays, beta: Any, count: int) -> Arrays:
        """So many steps."""
        raise NotImplementedError

    def begin(self, p: Arrays, x: Arrays) -> tuple[Arrays, Arrays]:
        """The fixed tensors, and the states before the first step."""
        c = self.net.fixed(p, x)
        return c, self.net.project(self.net.start(p, c))

    def rest(self, z: Arrays, p: Arrays, c: Arrays, t: Arrays) -> Arrays:
        """The end of the free phase."""
        return self.walk(z, p, c, t, None, self.case.steps)

    def phase(self, p: Arrays, x: Arrays, t: Arrays) -> Arrays:
        """A free phase from the clamps on."""
        c, z = self.begin(p, x)
        return self.rest(z, p, c, t)

    def bptt(self, p: Arrays, x: Arrays, t: Arrays) -> Arrays:
        """Reverse mode through all steps."""

        def cost(p: Arrays) -> Any:
            c, z = self.begin(p, x)
            return self.net.cost(self.walk(z, p, c, t, None, self.case.steps), p, c, t) / self.batch

        return jax.grad(cost)(p)

    def tbptt(self, p: Arrays, x: Arrays, t: Arrays) -> Arrays:
        """Reverse mode through as many steps as a nudged phase has."""
        c, z = self.begin(p, x)
        z = self.walk(z, p, c, t, None, self.case.steps - self.case.nudges)

        def cost(p: Arrays) -> Any:
            c = self.net.fixed(p, x)
            return self.net.cost(self.walk(z, p, c, t, None, self.case.nudges), p, c, t) / self.batch

        return jax.grad(cost)(p)

    def implicit(self, p: Arrays, x: Arrays, t: Arrays) -> Arrays:
        """The adjoint of a step at rest, iterated until it rests as well."""
        z = self.phase(p, x, t)
        return self.through_rest(z, p, x, t)

    def through_rest(self, z: Arrays, p: Arrays, x: Arrays, t: Arrays) -> Arrays:
        """The implicit gradient at a state of rest."""

        def after(z: Arrays, p: Arrays) -> Arrays:
            return self.step(z, p, self.net.fixed(p, x), t, None)

        def cost(z: Arrays, p: Arrays) -> Any:
            return self.net.cost(z, p, self.net.fixed(p, x), t) / self.batch

        seeds, direct = jax.grad(cost, (0, 1))(z, p)
        _, by_states = jax.vjp(lambda z: after(z, p), z)

        def moving(carry: tuple[Arrays, Any]) -> Any:
            return carry[1] >= self.tolerance

        def back(carry: tuple[Arrays, Any]) -> tuple[Arrays, Any]:
            moved = jax.tree.map(jnp.add, seeds, by_states(carry[0])[0])
            far = [
                jnp.linalg.norm(m - a) / jnp.maximum(jnp.linalg.norm(m), 1e-30)
                for m, a in zip(jax.tree.leaves(moved), jax.tree.leaves(carry[0]), strict=True)
            ]
            return moved, jnp.stack(far).max()

        adjoint, _ = lax.while_loop(moving, back, (seeds, jnp.ones((), x_dtype(seeds))))
        through = jax.vjp(lambda p: after(z, p), p)[1](adjoint)[0]
        return jax.tree.map(jnp.add, direct, through)

    def centered_ep(self, p: Arrays, x: Arrays, t: Arrays) -> Arrays:
        """The energies' slopes at both nudged states, as one difference."""
        c, z = self.begin(p, x)
        free = self.rest(z, p, c, t)
        plus, minus = (self.walk(free, p, c, t, b, self.case.nudges) for b in (self.case.beta, -self.case.beta))
        return self.contrast(p, x, t, plus, minus)

    def contrast(self, p: Arrays, x: Arrays, t: Arrays, plus: Arrays, minus: Arrays) -> Arrays:
        """The slope of the difference of energies."""

        def difference(p: Arrays) -> Any:
            c = self.net.fixed(p, x)
            return (self.net.energy(plus, p, c) - self.net.energy(minus, p, c)) / (2 * self.case.beta * self.batch)

        return jax.grad(difference)(p)

    def tracking_aep(self, p: Arrays, x: Arrays, t: Arrays) -> Arrays:
        """Both nudged phases with the antisymmetric correction at their midpoint."""
        c, z = self.begin(p, x)
        free = self.rest(z, p, c, t)
        plus, minus = self.track(free, p, c, t)
        return self.tracked(p, x, t, free, plus, minus)

    def pair(self, both: tuple[Any, Any], p: Arrays, c: Arrays, t: Arrays) -> tuple[Any, Any]:
        """A step of both nudged phases."""
        assert isinstance(self.net, Thick)
        plus, minus = both
        middle, half, beta = (plus + minus) / 2, (plus - minus) / 2, self.case.beta
        force = partial(self.net.without_energy, p=p)
        turn = jax.jvp(force, (middle,), (half,))[1] - jax.vjp(force, middle)[1](half)[0]

        def moved(z: Any, sign: int) -> Any:
            slope = jax.grad(self.net.cost)({"z": z}, p, c, t)["z"]
            push = self.net.force({"z": z}, p, c)["z"] - sign * beta * slope - sign * turn
            return z + self.size["z"] * push

        return moved(plus, 1), moved(minus, -1)

    def track(self, free: Arrays, p: Arrays, c: Arrays, t: Arrays) -> tuple[Any, Any]:
        """Both nudged phases."""
        raise NotImplementedError

    def tracked(self, p: Arrays, x: Arrays, t: Arrays, free: Arrays, plus: Any, minus: Any) -> Arrays:
        """The slope of the contrast, of energies and of forces."""
        assert isinstance(self.net, Thick)
        net, scale = self.net, 1 / (2 * self.case.beta * self.batch)

        def difference(p: Arrays) -> Any:
            c = net.fixed(p, x)
            energies = net.energy({"z": plus}, p, c) - net.energy({"z": minus}, p, c)
            pushed = (net.without_energy(free["z"], p) * (minus - plus)).sum()
            return scale * (energies + pushed) + net.cost(free, p, c, t) / self.batch

        return jax.grad(difference)(p)


def x_dtype(arrays: Arrays) -> Any:
    """The dtype of the first array."""
    return jax.tree.leaves(arrays)[0].dtype


class Loops(Rules):
    """Everything of a task under one jit, with loops of the compiler."""

    def walk(self, z: Arrays, p: Arrays, c: Arrays, t: Arrays, beta: Any, count: int) -> Arrays:
        return lax.fori_loop(0, count, lambda _, z: self.step(z, p, c, t, beta), dict(z))

    def rest(self, z: Arrays, p: Arrays, c: Arrays, t: Arrays) -> Arrays:
        if not self.case.early:
            return super().rest(z, p, c, t)

        def moving(carry: tuple[Any, Arrays, Any]) -> Any:
            return (carry[0] < self.case.steps) & (carry[2] > self.tolerance)

        def one(carry: tuple[Any, Arrays, Any]) -> tuple[Any, Arrays, Any]:
            moved = self.step(carry[1], p, c, t, None)
            return carry[0] + 1, moved, change(moved, carry[1])

        far = jnp.asarray(jnp.inf, x_dtype(z))
        return lax.while_loop(moving, one, (0, dict(z), far))[1]

    def track(self, free: Arrays, p: Arrays, c: Arrays, t: Arrays) -> tuple[Any, Any]:
        return lax.fori_loop(0, self.case.nudges, lambda _, both: self.pair(both, p, c, t), (free["z"], free["z"]))


class Steps(Rules):
    """Jitted steps, called one after the other; what lies before and after them is jitted, too."""

    def __init__(self, problem: Problem, net: Network) -> None:
        super().__init__(problem, net)
        for name in ("step", "begin", "contrast", "pair", "tracked", "through_rest"):
            setattr(self, name, jax.jit(getattr(self, name)))

    def walk(self, z: Arrays, p: Arrays, c: Arrays, t: Arrays, beta: Any, count: int) -> Arrays:
        for _ in range(count):
            z = self.step(z, p, c, t, beta)
        return z

    def rest(self, z: Arrays, p: Arrays, c: Arrays, t: Arrays) -> Arrays:
        if not self.case.early:
            return super().rest(z, p, c, t)
        for _ in range(self.case.steps):
            before, z = z, self.step(z, p, c, t, None)
            if float(change(z, before)) <= self.tolerance:
                break
        return z

    def track(self, free: Arrays, p: Arrays, c: Arrays, t: Arrays) -> tuple[Any, Any]:
        both = (free["z"], free["z"])
        for _ in range(self.case.nudges):
            both = self.pair(both, p, c, t)
        return both


@jax.jit
def change(after: Arrays, before: Arrays) -> Any:
    """The largest relative change of a sample's state."""
    parts = [(after[name] - before[name], after[name]) for name in after]
    flat = [tuple(x.reshape(len(x), -1) for x in pair) for pair in parts]
    return jnp.stack([(jnp.linalg.norm(d, axis=1) / (jnp.linalg.norm(x, axis=1) + 1e-30)).max() for d, x in flat]).max()


class ByHand(Loops):
    """Backpropagation through the steps of ``hopfield``, written out; the product with the clamps is made once."""

    def bptt(self, p: Arrays, x: Arrays, t: Arrays) -> Arrays:
        c, z = self.begin(p, x)
        net, size, W = self.net, self.size, p["W2"]

        def step(z: Arrays, _: None) -> tuple[Arrays, tuple[Arrays, Arrays]]:
            force = net.force(z, p, c)
            moved = {name: z[name] + size[name] * force[name] for name in z}
            return net.project(moved), (z, moved)

        def back(carry: tuple[Arrays, Arrays], kept: tuple[Arrays, Arrays]) -> tuple[tuple[Arrays, Arrays], None]:
            (cotangents, sums), (at, moved) = carry, kept
            inside = {name: jnp.where(moved[name] == net.project(moved)[name], x, 0) for name, x in cotangents.items()}
            s, y = (size[name] * inside[name] for name in ("s", "y"))
            before = {"s": inside["s"] - s + y @ W.T, "y": inside["y"] - y + s @ W}
            step = {"s": s, "W2": at["s"].T @ y + s.T @ at["y"], "b2": y.sum(0)}
            return (before, {name: sums[name] + x for name, x in step.items()}), None

        last, kept = lax.scan(step, dict(z), None, self.case.steps)
        seeds = {name: x / self.batch for name, x in jax.grad(net.cost)(last, p, c, t).items()}
        none = {"s": jnp.zeros_like(z["s"]), "W2": jnp.zeros_like(W), "b2": jnp.zeros_like(p["b2"])}
        (_, sums), _ = lax.scan(back, (seeds, none), kept, reverse=True)
        return {"W1": x["x"].T @ sums["s"], "b1": sums["s"].sum(0), "W2": sums["W2"], "b2": sums["b2"]}


def ways(problem: Problem) -> dict[str, dict[str, Way]]:
    """Both styles, and steps back by hand."""
    net = network(problem.case.spec, problem.sizes)
    by_hand = tasks(problem, ByHand(problem, net), jax.jit) if problem.case.spec == "hopfield" else {}
    return {
        "JAX (steps back by hand)": {name: call for name, call in by_hand.items() if name == "bptt"},
        "JAX (fori_loop)": tasks(problem, Loops(problem, net), jax.jit),
        "JAX (jitted steps)": tasks(problem, Steps(problem, net), lambda function: function),
    }


def tasks(problem: Problem, rules: Rules, whole: Callable[[Any], Any]) -> dict[str, Way]:
    """The tasks of a style, by name; ``whole`` is jit where a task is one function."""

    def arrays(tensors: Mapping[str, Any]) -> dict[str, Any]:
        return {name: jnp.asarray(np.asarray(x)) for name, x in tensors.items()}

    p, x, t, z = map(arrays, (problem.params, problem.clamps, problem.targets, problem.states))
    c = rules.begin(p, x)[0]
    steps = whole(lambda z, p, c, t: rules.walk(z, p, c, t, None, STEPS))

    def called(function: Callable[..., Arrays]) -> Way:
        made = whole(function)
        return lambda: jax.block_until_ready(made(p, x, t))

    updates = {name: called(getattr(rules, name.replace("-", "_"))) for name in problem.case.rules}
    return {"step": lambda: jax.block_until_ready(steps(z, p, c, t)), "phase": called(rules.phase), **updates}
