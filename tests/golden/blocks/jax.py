"""blocks: States that move exactly in blocks: in a box, by a slope that is computed, on a kink; and one that
moves by its step.

Made by energyc 0.3.0 from blocks.energy
SHA-256 of the spec: 3f4562e836e6296b66c9746e258c26dc5c5f864327735e4aac2f71a9e57ed449
Rules: centered-ep, implicit
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from energyc import jax as ej

ej.require_contract(1)

I, J, K = 12, 9, 4


class Params(NamedTuple):
    V: Array  # [I, J]
    W: Array  # [J, K]
    g: Array  # [J, K]
    l: Array


class Clamps(NamedTuple):
    x: Array  # [batch, I]


class Targets(NamedTuple):
    t: Array  # [batch, K]


class States(NamedTuple):
    s: Array  # [batch, J]
    w: Array  # [batch, K]
    y: Array  # [batch, K]
    u: Array  # [batch, K]


class Fixed(NamedTuple):
    x: Array  # [batch, I]
    x_V_part: Array  # [batch, J]
    g_part: Array  # [K]
    g_part_2: Array  # [J]
    drive: Array  # [J]


class Readouts(NamedTuple):
    out: Array  # [batch, K]


def init(key: Array, dtype: ej.DTypeLike = float) -> Params:
    """Draw params by the initializers of the spec."""
    keys = jax.random.split(key, 3)
    return Params(
        V=0.2 * jax.random.normal(keys[0], (I, J), dtype),
        W=0.2 * jax.random.normal(keys[1], (J, K), dtype),
        g=jnp.clip(jax.random.uniform(keys[2], (J, K), dtype, 0.1, 1), 0.01, 1),
        l=jnp.clip(jnp.full((), 0.01, dtype), 0, None),
    )


def prepare(params: Params, clamps: Clamps) -> Fixed:
    """The quantities that no step changes."""
    (x,) = clamps
    x_V_part = x @ params.V
    g_part = params.g.sum(0)
    g_part_2 = params.g.sum(1)
    drive = g_part_2 + 1
    return Fixed(x, x_V_part, g_part, g_part_2, drive)


def terms(params: Params, states: States, fixed: Fixed) -> dict[str, Array]:
    """Each energy term of each sample.

    energy leak    = 1/2 * sum[j](s[j]^2)
    energy current = 1/2 * sum[j,k](g[j,k] * (w[k] - s[j])^2)
    energy code    = 3/4 * sum[k](y[k]^2) + l * sum[k](abs(y[k]))
    energy well    = 1/2 * sum[k](u[k]^2) + 1/4 * sum[k](u[k]^4) - 1/2 * sum[k](u[k] * y[k])
    energy pairs   = -sum[i,j](x[i] * V[i,j] * s[j]) - sum[j,k](s[j] * W[j,k] * y[k])
    """
    s, w, y, u = states
    energy_leak = 0.5 * (s * s).sum(1)
    energy_current_part = w * w @ fixed.g_part + s * s @ fixed.g_part_2 - 2 * (w * (s @ params.g)).sum(1)
    energy_current = 0.5 * energy_current_part
    energy_code = 0.75 * (y * y).sum(1) + jnp.abs(y).sum(1) * params.l
    u_u = u * u
    energy_well = 0.5 * (u * u).sum(1) + 0.25 * (u_u * u_u).sum(1) - 0.5 * (y * u).sum(1)
    energy_pairs = -(s * fixed.x_V_part).sum(1) - (y * (s @ params.W)).sum(1)
    return {
        "leak": energy_leak,
        "current": energy_current,
        "code": energy_code,
        "well": energy_well,
        "pairs": energy_pairs,
    }


def force(params: Params, states: States, fixed: Fixed) -> States:
    """The force on each state, without that of code on y.

    F_s[j] = sum[k](g[j,k] * (w[k] - s[j])) - s[j] + sum[k](W[j,k] * y[k]) + sum[i](x[i] * V[i,j])
    F_w[k] = -sum[j](g[j,k] * (w[k] - s[j]))
    F_y[k] = 1/2 * u[k] - 3/2 * y[k] + sum[j](W[j,k] * s[j])
    F_u[k] = 1/2 * y[k] - u[k] - u[k]^3
    """
    s, w, y, u = states
    force_s = y @ params.W.T + fixed.x_V_part + w @ params.g.T - s - s * fixed.g_part_2
    force_w = s @ params.g - w * fixed.g_part
    force_y = 0.5 * u + s @ params.W - 1.5 * y
    force_u = 0.5 * y - u - u * (u * u)
    return States(force_s, force_w, force_y, force_u)


def readouts(params: Params, states: States, fixed: Fixed) -> Readouts:
    """The readouts: out[k] = y[k]"""
    _, _, y, _ = states
    return Readouts(y)


def cost(params: Params, states: States, fixed: Fixed, targets: Targets) -> Array:
    """The cost of each sample: mse = 1/2 * sum[k]((y[k] - t[k])^2)"""
    _, _, y, _ = states
    (t,) = targets
    cost_part = y - t
    cost = 0.5 * (cost_part * cost_part).sum(1)
    return cost


def weights(params: Params, fixed: Fixed) -> tuple[Array, ...]:
    """The weights of the kinks that move proximally."""
    return (jnp.broadcast_to(jnp.broadcast_to(params.l, (K,)), (len(fixed[0]), K)),)


def energy_contrast(params: Params, plus: States, minus: States, fixed: Fixed) -> dict[str, Array]:
    """dE/dtheta at plus less that at minus, summed over the batch.

    c_V[i,j] = x[i] * (minus_s[j] - plus_s[j])
    c_W[j,k] = minus_y[k] * (minus_s[j] - plus_s[j]) + plus_s[j] * (minus_y[k] - plus_y[k])
    c_g[j,k] = 1/2 * (plus_w[k] - minus_w[k] + minus_s[j] - plus_s[j]) * (plus_w[k] - plus_s[j] + minus_w[k] -
        minus_s[j])
    """
    plus_s, plus_w, plus_y, _ = plus
    minus_s, minus_w, minus_y, _ = minus
    total = minus_s - plus_s
    grad_W_part = minus_y - plus_y
    grad_g_part = plus_w - minus_w
    grad_g_part_2 = plus_w + minus_w
    grad_g_part_3 = -plus_s - minus_s
    return {
        "V": fixed.x.T @ total,
        "W": total.T @ minus_y + plus_s.T @ grad_W_part,
        "g": (
            0.5 * (grad_g_part_3.T @ grad_g_part)
            + 0.5 * (total.T @ grad_g_part_2)
            + 0.5 * (grad_g_part * grad_g_part_2).sum(0)
            + 0.5 * (total * grad_g_part_3).sum(0)[:, None]
        ),
    }


def force_of_block_0(params: Params, states: States, fixed: Fixed) -> dict[str, Any]:
    """The force on s; D of s."""
    s, w, y, _ = states
    force_s = y @ params.W.T + fixed.x_V_part + w @ params.g.T - s - s * fixed.g_part_2
    return {"s": (force_s, jnp.broadcast_to(fixed.drive, (len(states[0]), J)))}


def force_of_block_1(params: Params, states: States, fixed: Fixed) -> dict[str, Any]:
    """The force on w and y; D of w."""
    s, w, y, u = states
    force_w = s @ params.g - w * fixed.g_part
    force_y = 0.5 * u + s @ params.W - 1.5 * y
    return {"w": (force_w, jnp.broadcast_to(fixed.g_part, (len(states[0]), K))), "y": (force_y, 1.5)}


def force_of_block_2(params: Params, states: States, fixed: Fixed) -> dict[str, Any]:
    """The force on u."""
    _, _, y, u = states
    force_u = 0.5 * y - u - u * (u * u)
    return {"u": (force_u, None)}


def project_params(params: Params) -> Params:
    """Each param put back on its set, as after an update."""
    return Params(params.V, params.W, jnp.clip(params.g, 0.01, 1), jnp.clip(params.l, 0, None))


MODEL = ej.Model(
    records=ej.Records(Params, Clamps, States, Targets),
    sets={"s": ej.Box((J,), 0, 1), "w": ej.Real((K,)), "y": ej.Real((K,)), "u": ej.Real((K,))},
    settings=ej.Settings(
        step=0.25,
        steps=20,
        tolerance=0.0001,
        max_steps=200,
        chunk=2,
        explosion=10000.0,
        nudge_steps=8,
    ),
    init=init,
    prepare=prepare,
    terms=terms,
    force=force,
    readouts=readouts,
    cost=cost,
    weights=weights,
    contrast=energy_contrast,
    blocks=(force_of_block_0, force_of_block_1, force_of_block_2),
    cost_slopes={"y": 1},
    kinks={"y": ej.Kinks(corners=(ej.Corner(0, 0, 0),))},
    energy_params=("l",),
)
relax, step, residual, answer = ej.bind(MODEL, ej.relax, ej.step, ej.residual, ej.answer)
centered_ep, implicit = ej.bind(MODEL, ej.centered_ep, ej.implicit)
energy, project = MODEL.energy, MODEL.project


class Blocks(ej.Network):
    """The network as an object with params of its own."""

    model = MODEL
    rules = {"centered-ep": centered_ep, "implicit": implicit}
