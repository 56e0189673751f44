"""Steps and updates as a user of JAX would write them: one jitted function for a phase, with ``fori_loop``.

Each takes NumPy arrays by the names of the spec and returns what its phase leaves. JAX is imported here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Arrays = Mapping[str, Any]
Force = Callable[[Arrays, Arrays, Arrays], Arrays]


def thick(states: Arrays, params: Arrays, fixed: Arrays) -> Arrays:
    """The force of ``thick``."""
    z = states["z"]
    centred = z - z.mean(-1, keepdims=True)
    normal = centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)
    n1, n2 = normal * params["g1"] + params["h1"], normal * params["g2"] + params["h2"]
    q, k, v = (jnp.einsum("btd,hda->bhta", n1, params[f"W_{name}"]) for name in "qkv")
    scores = jnp.einsum("bhta,bhsa->bhts", q, k) / jnp.sqrt(q.shape[-1]).astype(z.dtype)
    p = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf))
    attention = jnp.einsum("bhta,had->btd", jnp.einsum("bhts,bhsa->bhta", p, v), params["W_o"])
    hidden = jax.nn.gelu(n2 @ params["W1"] + params["b1"], approximate=True)
    return {"z": attention + hidden @ params["W2"] + params["b2"] + fixed["x"] - 2 * z}


def cet_energy(states: Arrays, params: Arrays, fixed: Arrays, stride: int, gamma: float) -> Any:
    """The energy of ``cet``, with the encoder's drive computed before; summed over the batch."""
    z, y = states["z"], states["y"]
    side = params["W_dec"].shape[-1]
    seen = lax.conv_general_dilated(y, params["W_dec"], (stride, stride), "VALID").transpose(0, 2, 3, 1)
    assert side >= stride
    q = jnp.einsum("bijd,had->bhija", z, params["W_q"]).reshape(len(z), len(params["W_q"]), -1, params["W_q"].shape[1])
    k = jnp.einsum("bijd,had->bhija", z, params["W_k"]).reshape(q.shape)
    level = jax.nn.logsumexp(gamma * jnp.einsum("bhsa,bhta->bhst", q, k), -1)
    memory = jax.nn.relu(z @ params["W_mem"])
    return (
        0.5 * (z * z).sum()
        - (z * fixed["drive"]).sum()
        + 0.5 * (y * y).sum()
        - (z * seen).sum()
        - (y * params["b_dec"][:, None, None]).sum()
        - (memory * memory).sum()
        - level.sum() / gamma
    )


def cet(stride: int, gamma: float = 0.25) -> Force:
    """The force of ``cet``: minus the gradient of its energy."""
    slope = jax.grad(partial(cet_energy, stride=stride, gamma=gamma))
    return lambda states, params, fixed: jax.tree.map(jnp.negative, slope(states, params, fixed))


def hopfield(states: Arrays, params: Arrays, fixed: Arrays) -> Arrays:
    """The force of ``hopfield``, by hand."""
    s, y = states["s"], states["y"]
    return {"s": y @ params["W2"].T + fixed["drive"] - s, "y": s @ params["W2"] + params["b2"] - y}


def standardized(states: Arrays) -> Arrays:
    """The tokens of ``cet`` with mean 0 and deviation 1."""
    z = states["z"] - states["z"].mean(-1, keepdims=True)
    return {**states, "z": z / jnp.sqrt((z * z).mean(-1, keepdims=True))}


def boxed(states: Arrays) -> Arrays:
    """States between 0 and 1."""
    return {name: jnp.clip(x, 0, 1) for name, x in states.items()}


def phase(force: Force, project: Callable[[Arrays], Arrays], step: float, count: int) -> Any:
    """A free phase of some steps as one jitted function."""

    def one(_: int, states: Arrays, params: Arrays, fixed: Arrays) -> Arrays:
        moves = force(states, params, fixed)
        return project({name: x + step * moves[name] for name, x in states.items()})

    @jax.jit
    def run(states: Arrays, params: Arrays, fixed: Arrays) -> Arrays:
        return lax.fori_loop(0, count, partial(one, params=params, fixed=fixed), states)

    return run


def hopfield_update(step: float, free: int, nudged: int, beta: float) -> Any:
    """A whole centred update of ``hopfield`` by equilibrium propagation: its gradients, as one jitted function."""

    def walk(states: Arrays, params: Arrays, fixed: Arrays, hit: Any, strength: float, count: int) -> Arrays:
        def one(_: int, at: Arrays) -> Arrays:
            moves = hopfield(at, params, fixed)
            moves = {**moves, "y": moves["y"] - strength * (at["y"] - hit)}
            return boxed({name: x + step * moves[name] for name, x in at.items()})

        return lax.fori_loop(0, count, one, states)

    @jax.jit
    def update(params: Arrays, x: Any, label: Any) -> Arrays:
        fixed = {"drive": x @ params["W1"] + params["b1"]}
        hit = jax.nn.one_hot(label, params["b2"].shape[0], dtype=x.dtype)
        start = {"s": jnp.zeros((len(x), params["b1"].shape[0])), "y": jnp.zeros((len(x), params["b2"].shape[0]))}
        rest = walk(start, params, fixed, hit, 0.0, free)
        plus, minus = (walk(rest, params, fixed, hit, b, nudged) for b in (beta, -beta))
        scale = 1 / (2 * beta * len(x))
        return {
            "W1": -scale * x.T @ (plus["s"] - minus["s"]),
            "b1": -scale * (plus["s"] - minus["s"]).sum(0),
            "W2": -scale * (plus["s"].T @ plus["y"] - minus["s"].T @ minus["y"]),
            "b2": -scale * (plus["y"] - minus["y"]).sum(0),
        }

    return update
