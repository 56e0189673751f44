"""nudged_layers: Layers that are nudged one by one: each of its own kind, in a row and in a repeat, with params
that they share.

Made by energyc 0.2.0 from nudged_layers.energy
SHA-256 of the spec: e868b126029e6185f41fc1f9fcfab7809ce72f3a85e41bbfb2d579a7a7a031d4
Rules: tracking-aep, implicit
Passes: hoist, share, separate, segments
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.custom_derivatives import linear_call
from jax.scipy.sparse.linalg import gmres
from jax.typing import DTypeLike

I, D, K, L = 12, 9, 4, 2


class Params(NamedTuple):
    """What is learned."""

    V: Array
    S: Array
    U: Array
    code_b: Array
    g: Array
    cell_W: Array


class Clamps(NamedTuple):
    """The inputs, a row for each sample."""

    x: Array


class Targets(NamedTuple):
    """What the cost compares with."""

    y: Array


class States(NamedTuple):
    """Of all layers, [batch, copies, ...] in a repeat."""

    code_z: Array
    cell_z: Array


class Values(NamedTuple):
    """What the answers read of the layers."""

    code_z: Array
    h: Array


class Readouts(NamedTuple):
    """The answers."""

    out: Array


class CodeParams(NamedTuple):
    """The learned parameters."""

    b: Array
    V: Array
    S: Array


class CodeClamps(NamedTuple):
    """The inputs, a row for each sample."""

    x: Array


class CodeTargets(NamedTuple):
    """The targets of the cost, a row for each sample."""

    g_z: Array


class CodeStates(NamedTuple):
    """z[D], a row for each sample."""

    z: Array


class CodeFixed(NamedTuple):
    """Clamps, and quantities that depend on clamps and params alone."""

    x: Array
    drive: Array


class CodeReadouts(NamedTuple):
    """The readouts."""

    z: Array


class CodeEquations:
    """The layer `code`: states z[D]."""

    STEP = CodeStates(0.3)
    STEPS = 20
    CHUNK = 25
    MAX_STEPS = 200
    TOLERANCE = 0.0001
    EXPLOSION = 10000.0
    BETA = 0.01
    NUDGE_STEPS = 12

    def prepare(self, params: CodeParams, clamps: CodeClamps) -> CodeFixed:
        """The quantities that no step changes."""
        (x,) = clamps
        drive = x @ params.V.T - params.b
        return CodeFixed(x, drive)

    def start(self, params: CodeParams, fixed: CodeFixed) -> CodeStates:
        """Zeros."""
        return CodeStates(jnp.zeros((len(fixed[0]), D), params.b.dtype))

    def terms(self, params: CodeParams, states: CodeStates, fixed: CodeFixed) -> dict[str, Array]:
        """Each energy term of each sample.

        energy well = 1/2 * sum[d](z[d]^2) + sum[d](b[d] * z[d]) - sum[i,d](z[d] * V[d,i] * x[i])
        energy bend = 1/2 * sum[d](sum[e](S[d,e] * z[e])^2)
        """
        (z,) = states
        energy_well = 0.5 * (z * z).sum(1) + z @ params.b - (z * (fixed.x @ params.V.T)).sum(1)
        z_S = z @ params.S.T
        energy_bend = 0.5 * (z_S * z_S).sum(1)
        return {"well": energy_well, "bend": energy_bend}

    def force(self, params: CodeParams, states: CodeStates, fixed: CodeFixed) -> CodeStates:
        """The force on each state.

        F_z[d] = sum[i](V[d,i] * x[i]) - b[d] - z[d] - sum[e](S[e,d] * sum[d2](z[d2] * S[e,d2]))
        """
        (z,) = states
        force_z = fixed.drive - z - z @ params.S.T @ params.S
        return CodeStates(force_z)

    def readouts(self, params: CodeParams, states: CodeStates, fixed: CodeFixed) -> CodeReadouts:
        """The readouts.

        z
        """
        (z,) = states
        return CodeReadouts(z)

    def cost_vjp(
        self, params: CodeParams, states: CodeStates, fixed: CodeFixed, targets: CodeTargets
    ) -> tuple[CodeStates, Slopes]:
        """dC/dz of each sample; and the direct dC/dtheta.

        dC/dz[d] = g_z[d]
        """
        (g_z,) = targets
        return CodeStates(g_z), {}

    def force_vjp(
        self, params: CodeParams, states: CodeStates, fixed: CodeFixed, cotangents: CodeStates
    ) -> tuple[CodeStates, Slopes]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (z,) = states
        (cot_z_2,) = cotangents
        S_cot_z_2 = cot_z_2 @ params.S.T
        back_z = -cot_z_2 - S_cot_z_2 @ params.S
        return CodeStates(back_z), {
            "b": -cot_z_2.sum(0),
            "V": cot_z_2.T @ fixed.x,
            "S": -((z @ params.S.T).T @ cot_z_2) - S_cot_z_2.T @ z,
        }

    def clamp_gradient(
        self, params: CodeParams, states: CodeStates, fixed: CodeFixed, cotangents: CodeStates
    ) -> Slopes:
        """<cotangents, dF/dx> for each real clamp."""
        (cot_z_2,) = cotangents
        grad_x = cot_z_2 @ params.V
        return {"x": grad_x}

    def readout_vjp(
        self, params: CodeParams, states: CodeStates, fixed: CodeFixed, cotangents: CodeReadouts
    ) -> tuple[CodeStates, Slopes]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (cot_z_2,) = cotangents
        return CodeStates(cot_z_2), {}

    def energy_gradient(self, params: CodeParams, states: CodeStates, fixed: CodeFixed) -> Slopes:
        """dE/dtheta, summed over the batch, of what no single product contrasts.

        dE/dS[d,e] = z[e] * sum[d2](z[d2] * S[d,d2])
        """
        (z,) = states
        return {"S": (z @ params.S.T).T @ z}

    def energy_contrast(self, params: CodeParams, plus: CodeStates, minus: CodeStates, fixed: CodeFixed) -> Slopes:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_b[d] = plus_z[d] - minus_z[d]
        c_V[d,i] = x[i] * (minus_z[d] - plus_z[d])
        """
        (plus_z,) = plus
        (minus_z,) = minus
        grad_V_part = minus_z - plus_z
        return {"b": plus_z.sum(0) - minus_z.sum(0), "V": grad_V_part.T @ fixed.x}

    def correction(
        self, params: CodeParams, states: CodeStates, fixed: CodeFixed, directions: CodeStates
    ) -> CodeStates:
        """(J_nc - J_nc^T) directions; J_nc is dF/dz of nothing."""
        return CodeStates(jnp.zeros_like(states.z))

    def energy_slopes(
        self, params: CodeParams, plus: CodeStates, minus: CodeStates, fixed: CodeFixed
    ) -> list[Slopes]:
        """dE/dtheta at plus less that at minus."""
        return [
            self.energy_contrast(params, plus, minus, fixed),
            less(self.energy_gradient(params, plus, fixed), self.energy_gradient(params, minus, fixed)),
        ]


class CellParams(NamedTuple):
    """The learned parameters."""

    W: Array
    g: Array
    S: Array


class CellClamps(NamedTuple):
    """The inputs, a row for each sample."""

    h: Array


class CellTargets(NamedTuple):
    """The targets of the cost, a row for each sample."""

    g_z: Array


class CellStates(NamedTuple):
    """z[D], a row for each sample."""

    z: Array


class CellFixed(NamedTuple):
    """Clamps, and quantities that depend on clamps and params alone."""

    h: Array


class CellReadouts(NamedTuple):
    """The readouts."""

    n: Array


class CellEquations:
    """The layer `cell`: states z[D]."""

    STEP = CellStates(0.3)
    STEPS = 20
    CHUNK = 25
    MAX_STEPS = 200
    TOLERANCE = 0.0001
    EXPLOSION = 10000.0
    NUDGE_STEPS = 12
    FORCE_PARAMS = ("W", "g", "S")

    def prepare(self, params: CellParams, clamps: CellClamps) -> CellFixed:
        """The quantities that no step changes."""
        (h,) = clamps
        return CellFixed(h)

    def start(self, params: CellParams, fixed: CellFixed) -> CellStates:
        """Where the states start."""
        return CellStates(fixed.h)

    def terms(self, params: CellParams, states: CellStates, fixed: CellFixed) -> dict[str, Array]:
        """Each energy term of each sample.

        energy near = 1/2 * sum[d]((z[d] - h[d])^2)
        """
        (z,) = states
        energy_near_part = z - fixed.h
        energy_near = 0.5 * (energy_near_part * energy_near_part).sum(1)
        return {"near": energy_near}

    def force(self, params: CellParams, states: CellStates, fixed: CellFixed) -> CellStates:
        """The force on each state.

        F_z[d] = sum[e](W[d,e] * tanh(n[e])) - (z[d] - h[d]) + sum[e](n[e] * S[d,e])
        """
        (z,) = states
        n_part = (z * z).mean(1) + 1e-05
        n = z * lax.rsqrt(n_part)[:, None] * params.g
        force_z = fixed.h + jnp.tanh(n) @ params.W.T + n @ params.S.T - z
        return CellStates(force_z)

    def readouts(self, params: CellParams, states: CellStates, fixed: CellFixed) -> CellReadouts:
        """The readouts.

        let n[d] = g[d] * rmsnorm[d](z[d])
        """
        (z,) = states
        n_part = (z * z).mean(1) + 1e-05
        n = z * lax.rsqrt(n_part)[:, None] * params.g
        return CellReadouts(n)

    def cost_vjp(
        self, params: CellParams, states: CellStates, fixed: CellFixed, targets: CellTargets
    ) -> tuple[CellStates, Slopes]:
        """dC/dz of each sample; and the direct dC/dtheta.

        dC/dz[d] = g_z[d]
        """
        (g_z,) = targets
        return CellStates(g_z), {}

    def force_vjp(
        self, params: CellParams, states: CellStates, fixed: CellFixed, cotangents: CellStates
    ) -> tuple[CellStates, Slopes]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (z,) = states
        (cot_z,) = cotangents
        total = (z * z).mean(1) + 1e-05
        total_rsqrt = lax.rsqrt(total)
        product = z * total_rsqrt[:, None]
        n = product * params.g
        tanh = jnp.tanh(n)
        pull_n_part = -(tanh * tanh) + 1
        pull_n = cot_z @ params.S + cot_z @ params.W * pull_n_part
        back_z_part = total ** -1.5 * (z * pull_n @ params.g)
        back_z = pull_n * total_rsqrt[:, None] * params.g - cot_z - 1 / D * (z * back_z_part[:, None])
        return CellStates(back_z), {"W": cot_z.T @ tanh, "g": (product * pull_n).sum(0), "S": cot_z.T @ n}

    def clamp_gradient(
        self, params: CellParams, states: CellStates, fixed: CellFixed, cotangents: CellStates
    ) -> Slopes:
        """<cotangents, dF/dx> for each real clamp."""
        (cot_z,) = cotangents
        return {"h": cot_z}

    def readout_vjp(
        self, params: CellParams, states: CellStates, fixed: CellFixed, cotangents: CellReadouts
    ) -> tuple[CellStates, Slopes]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (z,) = states
        (cot_n,) = cotangents
        total = (z * z).mean(1) + 1e-05
        total_rsqrt = lax.rsqrt(total)
        back_z_part = total ** -1.5 * (z * cot_n @ params.g)
        back_z = cot_n * total_rsqrt[:, None] * params.g - 1 / D * (z * back_z_part[:, None])
        return CellStates(back_z), {"g": (cot_n * (z * total_rsqrt[:, None])).sum(0)}

    def correction(
        self, params: CellParams, states: CellStates, fixed: CellFixed, directions: CellStates
    ) -> CellStates:
        """(J_nc - J_nc^T) directions; J_nc is dF/dz of turn."""
        (z,) = states
        (v_z,) = directions
        total = (z * z).mean(1) + 1e-05
        total_rsqrt = lax.rsqrt(total)
        n = z * total_rsqrt[:, None] * params.g
        tanh = jnp.tanh(n)
        total_2 = -(tanh * tanh) + 1
        power = total ** -1.5
        v_n_part = z * (power * (z * v_z).sum(1))[:, None]
        v_n = v_z * total_rsqrt[:, None] * params.g - 1 / D * (v_n_part * params.g)
        pull_n = v_z @ params.S + v_z @ params.W * total_2
        turn_z_part = power * (z * pull_n @ params.g)
        turn_z = (
            total_2 * v_n @ params.W.T
            + v_n @ params.S.T
            + 1 / D * (z * turn_z_part[:, None])
            - pull_n * total_rsqrt[:, None] * params.g
        )
        return CellStates(turn_z)

    def energy_slopes(
        self, params: CellParams, plus: CellStates, minus: CellStates, fixed: CellFixed
    ) -> list[Slopes]:
        """dE/dtheta at plus less that at minus."""
        return []


def init(key: Array, dtype: DTypeLike = float) -> Params:
    """The first params, by the laws of the spec."""
    keys = jax.random.split(key, 4)
    return Params(
        V=0.2 * jax.random.normal(keys[0], (D, I), dtype),
        S=0.2 * jax.random.normal(keys[1], (D, D), dtype),
        U=0.2 * jax.random.normal(keys[2], (K, D), dtype),
        code_b=jnp.full((D,), 0, dtype),
        g=jnp.full((L, D), 1, dtype),
        cell_W=0.2 * jax.random.normal(keys[3], (L, D, D), dtype),
    )


def blocks(params: Params, clamps: Clamps, visit: Visit) -> tuple[Values, list[Relaxed]]:
    """The layers in a row, each by a ``visit``: what the answers read, and where each ended.

    next h[d] = h[d] + cell.n[d]
    """
    (code_z,), code_end = visit(Code(), CodeParams(params.code_b, params.V, params.S), CodeClamps(clamps.x))
    h = code_z

    def copy(h, own):
        g, cell_W = own
        (cell_n,), cell_end = visit(Cell(), CellParams(cell_W, g, params.S), CellClamps(h))
        h = h + cell_n
        return h, (cell_end,)

    h, (cell_end,) = lax.scan(copy, h, (params.g, params.cell_W))
    return Values(code_z, h), [code_end, copied(cell_end)]


def readouts(params: Params, values: Values, clamps: Clamps) -> Readouts:
    """The readouts.

    readout out[k] = sum[d](U[k,d] * h[d])
    """
    _, h = values
    out = h @ params.U.T
    return Readouts(out)


def cost(params: Params, values: Values, clamps: Clamps, targets: Targets) -> Array:
    """The cost of each sample.

    cost mse = 1/2 * sum[k]((out[k] - y[k])^2)
    """
    _, h = values
    (y,) = targets
    cost_part = h @ params.U.T - y
    cost = 0.5 * (cost_part * cost_part).sum(1)
    return cost


#: A record of arrays of a layer: each has its own.
Record: TypeAlias = Any


#: Slopes of a layer by params and clamps: ``way(layer, params, free, fixed, cotangents, beta)``.
Way = Callable[..., list[dict[str, Array]]]


#: Relaxes a layer with params and clamps of its own: its readouts, and where it ended.
Visit = Callable[[Any, Any, Any], tuple[Any, Any]]


visit.defvjp(visited, gone_back)


#: Slopes by the fields of params and clamps, those of params summed over the batch.
Slopes = dict[str, Array]


def change(params: Record, before: Record, after: Record, fixed: Record) -> Array:
    """The largest ``|after - before| / (|before| + 1e-12)`` of a state, infinite where it is not finite."""
    ratios = [length(a - b) / (length(b) + 1e-12) for a, b in zip(after, before, strict=True)]
    return jnp.nan_to_num(jnp.stack(ratios).max(0), nan=jnp.inf)


def chosen(rows: Array, yes: Record, no: Record) -> Record:
    """Of some samples one, of the others another."""
    return jax.tree.map(lambda y, n: jnp.where(rows.reshape(-1, *[1] * (y.ndim - 1)), y, n), yes, no)


#: The force that a nudge subtracts: ``drive(params, states, fixed, targets)``.
Drive = Callable[..., Record]


#: Moves a pair of nudged phases by a step: ``advance(params, plus, minus, free, fixed, targets, beta)``.
Advance = Callable[..., tuple[Record, Record]]


def less(slopes: Record, other: Record, factor: Array | float = 1.0) -> Record:
    """``slopes - factor * other``."""
    return jax.tree.map(lambda f, g: f - factor * g, slopes, other)


def norm(states: Record) -> Array:
    """The Euclidean norm of all states of a sample."""
    return jnp.sqrt(sum(length(x) ** 2 for x in states))


class Layer:
    """The methods of all layers: relaxation, and the ways back through it."""

    def step_sizes(self, fixed: Record) -> Record:
        """The step size of each state."""
        return self.STEP

    def moved(self, fixed: Record, states: Record, slopes: Record) -> Record:
        """Each state by its step size along a force."""
        return jax.tree.map(lambda z, f, h: z + h * f, states, slopes, self.step_sizes(fixed))

    def along(self, fixed: Record, slopes: Record) -> Record:
        """Each slope times the step size of its state."""
        return jax.tree.map(jnp.multiply, slopes, self.step_sizes(fixed))

    def advanced(self, params: Record, states: Record, fixed: Record, slopes: Record) -> Record:
        """Each state along a force, then onto its set."""
        return self.project(self.moved(fixed, states, slopes))

    def advanced_vjp(self, params: Record, at: Record, fixed: Record, cotangents: Record) -> Record:
        """P^T cotangents, P the derivative by which a step goes on from where its force led."""
        return self.project_vjp(at, cotangents)

    def step(self, params: Record, states: Record, fixed: Record) -> Record:
        """One step: each state along its force, then onto its set."""
        return self.advanced(params, states, fixed, self.force(params, states, fixed))

    def residual(self, params: Record, states: Record, fixed: Record) -> Array:
        """How far the next step leads, of each sample."""
        return change(params, states, self.advanced(params, states, fixed, self.force(params, states, fixed)), fixed)

    def settle(self, params: Record, states: Record, fixed: Record) -> Relaxed:
        """STEPS steps; then CHUNK more, MAX_STEPS at most, of the samples whose residual is above TOLERANCE."""

        def walk(states: Record, count: Array | int) -> Record:
            return lax.fori_loop(0, count, lambda _, z: self.step(params, z, fixed), states)

        def goes_on(run: tuple[Relaxed, Array]) -> Array:
            free, done = run
            return self.unsettled(free).any() & (done < self.MAX_STEPS)

        def further(run: tuple[Relaxed, Array]) -> tuple[Relaxed, Array]:
            free, done = run
            on, count = self.unsettled(free), jnp.minimum(self.CHUNK, self.MAX_STEPS - done)
            states = chosen(on, walk(free.states, count), free.states)
            left = jnp.where(on, self.residual(params, states, fixed), free.residual)
            return Relaxed(states, left, free.steps + jnp.where(on, count, 0)), done + count

        states = walk(states, self.STEPS)
        left = self.residual(params, states, fixed)
        first = Relaxed(states, left, jnp.full(left.shape, self.STEPS))
        return lax.while_loop(goes_on, further, (first, jnp.asarray(self.STEPS)))[0]

    def unsettled(self, free: Relaxed) -> Array:
        """The samples that go on."""
        return jnp.isfinite(free.residual) & (free.residual > self.TOLERANCE)

    def free_phase(self, params: Record, fixed: Record) -> Relaxed:
        """The states from their start to where they rest."""
        before = self.project(self.start(params, fixed))
        free = self.settle(params, before, fixed)
        return free._replace(residual=self.checked(params, before, free.states, fixed, free.residual))

    def checked(self, params: Record, before: Record, after: Record, fixed: Record, residual: Array) -> Array:
        """The residual of each sample, infinite if it exploded until rounding stopped it: that reads as settled."""
        scale = jnp.maximum(1.0, jnp.stack([jnp.abs(x).max() for x in before]).max())
        largest = jnp.stack([jnp.abs(x).reshape(len(x), -1).max(1) for x in after]).max(0)
        displaced = type(after)(*map(shaken, after))
        far, still = largest > self.EXPLOSION * scale, self.immobile(params, after, fixed)
        return jnp.where(far & still & self.immobile(params, displaced, fixed), jnp.inf, residual)

    def immobile(self, params: Record, states: Record, fixed: Record) -> Array:
        """The samples most of whose coordinates a step moves by less than an ulp."""
        ulp = jnp.finfo(states[0].dtype).eps / 2
        moves = self.along(fixed, self.force(params, states, fixed))
        still = [(jnp.abs(move) < ulp * jnp.abs(x)).reshape(len(x), -1) for x, move in zip(states, moves, strict=True)]
        return jnp.concatenate(still, 1).mean(1) > 0.5

    def cost_force(self, params: Record, states: Record, fixed: Record, targets: Record) -> Record:
        """dC/dz of each sample."""
        return self.cost_vjp(params, states, fixed, targets)[0]

    def tracking(
        self,
        params: Record,
        plus: Record,
        minus: Record,
        free: Record,
        fixed: Record,
        targets: Record,
        beta: Array | float,
    ) -> tuple[Record, Record]:
        """The same, with -+ (J_nc - J_nc^T)(m) v: m is their midpoint, and v half of what separates them."""
        middle = jax.tree.map(lambda p, m: (p + m) / 2, plus, minus)
        half = jax.tree.map(lambda p, m: (p - m) / 2, plus, minus)
        turn = self.correction(params, middle, fixed, half)
        up = self.corrected_step(params, plus, fixed, targets, beta, turn)
        return up, self.corrected_step(params, minus, fixed, targets, -beta, jax.tree.map(lambda x: -x, turn))

    def corrected_step(
        self, params: Record, states: Record, fixed: Record, targets: Record, beta: Array | float, turn: Record
    ) -> Record:
        """One step under the force less beta dC/dz, less a correction."""
        push = self.cost_force(params, states, fixed, targets)
        return self.advanced(params, states, fixed, less(less(self.force(params, states, fixed), push, beta), turn))

    def phases(
        self, params: Record, free: Record, fixed: Record, targets: Record, beta: Array | float, advance: Advance
    ) -> tuple[Record, Record]:
        """Both nudged phases after NUDGE_STEPS steps."""

        def both(_: Array, pair: tuple[Record, Record]) -> tuple[Record, Record]:
            return advance(params, *pair, free, fixed, targets, beta)

        return lax.fori_loop(0, self.NUDGE_STEPS, both, (free, free))

    def solved(self, params: Record, states: Record, fixed: Record, seeds: Record) -> Record:
        """``step P^T lambda`` of the adjoint equation, by repeating the transposed step, then by GMRES.

        Both solve for P^T lambda, in which the entries that P holds are 0: J may be infinite there.

        NaN of all samples where neither comes to rest: there may be no isolated equilibrium.
        """
        goal = 1e-12 if states[0].dtype == jnp.float64 else 1e-5
        at = self.moved(fixed, states, self.force(params, states, fixed))
        seeds = self.advanced_vjp(params, at, fixed, seeds)
        size = norm(seeds)

        def back(a: Record) -> Record:
            """P^T (I + step J)^T a."""
            pushed = self.force_vjp(params, states, fixed, self.along(fixed, a))[0]
            return self.advanced_vjp(params, at, fixed, jax.tree.map(jnp.add, a, pushed))

        def rest(a: Record) -> Record:
            return jax.tree.map(jnp.subtract, a, back(a))

        def operator(a: Record) -> Record:
            """``rest`` for GMRES, which transposes it and uses nothing of that: tests for 0 in it have no transpose."""
            return linear_call(lambda _, v: rest(v), lambda _, v: jax.tree.map(lambda x: jnp.nan * x, v), (), a)

        def goes_on(run: tuple[Record, Array, Array]) -> Array:
            _, left, count = run
            return (left > goal * size).any() & (count < 200)

        def further(run: tuple[Record, Array, Array]) -> tuple[Record, Array, Array]:
            a, _, count = run
            after = jax.tree.map(jnp.add, seeds, back(a))
            return after, norm(jax.tree.map(jnp.subtract, after, a)), count + 1

        a, left, _ = lax.while_loop(goes_on, further, (seeds, jnp.full_like(size, jnp.inf), jnp.asarray(0)))
        near = jnp.isfinite(left).all() & (left <= size).all()
        first = jax.tree.map(lambda x, s: jnp.where(near, x, s), a, seeds)

        def by_gmres(_: Record) -> Record:
            a = gmres(operator, seeds, first, tol=goal / 10, restart=60, maxiter=40)[0]
            wrong = norm(jax.tree.map(jnp.subtract, rest(a), seeds)) > 1e3 * goal * size
            return jax.tree.map(lambda x: jnp.where(wrong.any(), jnp.nan, x), a)

        a = lax.cond((left <= goal * size).all(), lambda x: x, by_gmres, first)
        return self.along(fixed, a)

    def project(self, states: Record) -> Record:
        """The states are in no set."""
        return states

    def project_vjp(self, at: Record, cotangents: Record) -> Record:
        """The adjoint of nothing."""
        return cotangents

    def by_implicit(
        self,
        params: Record,
        free: Relaxed,
        fixed: Record,
        seeds: Record,
        beta: Array | None,
    ) -> list[Slopes]:
        """By the adjoint equation at rest."""
        return [self.force_slopes(params, free.states, fixed, self.solved(params, free.states, fixed, seeds))[1]]

    def by_tracking_aep(
        self,
        params: Record,
        free: Relaxed,
        fixed: Record,
        seeds: Record,
        beta: Array | None,
    ) -> list[Slopes]:
        """By two phases under the nudge <seeds, z> with a correction that tracks the free network."""
        width = self.strength(params, free, fixed, seeds, self.cost_force) if beta is None else beta
        plus, minus = self.phases(params, free.states, fixed, seeds, width, self.tracking)
        return self.contrast_slopes(params, free.states, plus, minus, fixed, 2 * width)

    def contrast_slopes(
        self, params: Record, states: Record, plus: Record, minus: Record, fixed: Record, width: Array | float
    ) -> list[Slopes]:
        """The contrast by params; by clamps <a, dF/dx> with the adjoint a that it finds."""
        a = jax.tree.map(lambda p, m: (m - p) / width, plus, minus)
        slopes = self.contrast(params, states, plus, minus, fixed, width)
        return [*slopes, self.clamp_gradient(params, states, fixed, a)]

    def force_slopes(self, params: Record, states: Record, fixed: Record, cotangents: Record) -> tuple[Record, Slopes]:
        """J^T cotangents, and <cotangents, dF> by params and clamps."""
        earlier, slopes = self.force_vjp(params, states, fixed, cotangents)
        return earlier, {**slopes, **self.clamp_gradient(params, states, fixed, cotangents)}


class Code(CodeEquations, Layer):
    """The layer `code`, relaxed."""

    def strength(
        self,
        params: Record,
        free: Relaxed,
        fixed: Record,
        targets: Record,
        drive: Drive,
        order: int = 2,
    ) -> float:
        """That of the spec."""
        return self.BETA

    def contrast(
        self, params: Record, states: Record, plus: Record, minus: Record, fixed: Record, width: Array | float
    ) -> list[Slopes]:
        """The slopes of the energies between two phases."""
        return jax.tree.map(lambda x: x / width, self.energy_slopes(params, plus, minus, fixed))


class Cell(CellEquations, Layer):
    """The layer `cell`, relaxed."""

    def nudged_step(
        self, params: Record, states: Record, fixed: Record, targets: Record, beta: Array | float, drive: Drive
    ) -> Record:
        """One step under the force less beta times its drive."""
        push = drive(params, states, fixed, targets)
        return self.advanced(params, states, fixed, less(self.force(params, states, fixed), push, beta))

    def nudged(
        self,
        params: Record,
        states: Record,
        fixed: Record,
        targets: Record,
        beta: Array | float,
        drive: Drive,
    ) -> Record:
        """NUDGE_STEPS steps under a nudge."""

        def one(_: Array, states: Record) -> Record:
            return self.nudged_step(params, states, fixed, targets, beta, drive)

        return lax.fori_loop(0, self.NUDGE_STEPS, one, states)

    def strength(
        self,
        params: Record,
        free: Relaxed,
        fixed: Record,
        targets: Record,
        drive: Drive,
        order: int = 2,
    ) -> Array:
        """The strength at which rounding / displacement is displacement ^ order, as a trial nudge tells.

        It is a power of two. A nudge so many times as strong as the trial that it lets go of states which that left
        held is the trial's. Order 1 is one nudge, which also reads what the free phase still moves.
        """
        states, eps = free.states, float(jnp.finfo(free.states[0].dtype).eps)
        known = jnp.isfinite(free.residual)
        median = jnp.sort(jnp.where(known, free.residual, jnp.inf))[jnp.maximum(known.sum() - 1, 0) // 2]
        rows = known & (free.residual <= jnp.maximum(self.TOLERANCE, 10 * median))

        def after(beta: Array | float) -> Record:
            return self.nudged(params, states, fixed, targets, beta, drive)

        sizes = jnp.stack([rms(x, rows) for x in states])
        largest = jnp.where(sizes.max() > 0, sizes.max(), 1.0)
        push = jnp.stack([rms(x, rows) for x in drive(params, states, fixed, targets)]).max()
        longest = jnp.asarray(self.step_sizes(fixed), states[0].dtype).max()
        trial = eps ** (1 / 3) * largest / (push * longest * min(self.NUDGE_STEPS, 20))
        moved, drifted = after(trial), after(0.0)
        drifts = jnp.stack([rms(x, rows) for x in less(drifted, states)])
        scales = jnp.where(sizes > 16 * jnp.maximum(drifts, eps * sizes.max()), sizes, 0.0)
        scales = jnp.where(scales > 0, scales, jnp.where(scales.max() > 0, scales.max(), 1.0))
        moves = jnp.stack([rms(x, rows) for x in less(moved, drifted)])
        moves, drifts = jnp.where(moves > 4 * eps * scales, moves / (trial * scales), 0.0), drifts / scales
        useful = (moves > 0) & jnp.isfinite(moves) & jnp.isfinite(drifts)
        noise = jnp.maximum(eps, drifts) if order == 1 else jnp.full_like(drifts, eps)
        ratio = jnp.where(useful, jnp.log2(noise) - jnp.log2(moves), -jnp.inf).max()
        reach = jnp.log2(jnp.where(useful, moves, 0.0).max())
        most = math.log2(float(jnp.finfo(states[0].dtype).max)) / 2
        exponent = jnp.where(useful.any(), ((ratio - order * reach) / (order + 1)).clip(-most, most), 0.0)
        found = 2.0 ** jnp.round(exponent)

        def lets_go(beta: Array) -> Array:
            growth, there = 4 * jnp.abs(beta) / trial, after(beta)
            wide = [
                ~(jnp.abs(x - d) <= growth * (jnp.abs(m - d) + 4 * eps * s)).reshape(len(x), -1)
                for x, m, d, s in zip(there, moved, drifted, scales, strict=True)
            ]
            return (jnp.concatenate(wide, 1).any(1) & rows).any()

        signs = (1.0,) if order == 1 else (1.0, -1.0)
        far = found > 256 * trial
        gone = lax.cond(far, lambda: jnp.stack([lets_go(s * found) for s in signs]).any(), lambda: jnp.asarray(False))
        found = jnp.where(gone, 2.0 ** jnp.floor(jnp.log2(trial)), found)
        return jnp.where((push > 0) & jnp.isfinite(push), found, 1.0)

    def contrast(
        self, params: Record, states: Record, plus: Record, minus: Record, fixed: Record, width: Array | float
    ) -> list[Slopes]:
        """The slopes of the energies between two phases; of a force without an energy <a, dF/dtheta>."""
        slopes = jax.tree.map(lambda x: x / width, self.energy_slopes(params, plus, minus, fixed))
        a = jax.tree.map(lambda p, m: (m - p) / width, plus, minus)
        return [*slopes, self.user_force_gradient(params, states, fixed, a)]

    def user_force_gradient(self, params: Record, states: Record, fixed: Record, cotangents: Record) -> Slopes:
        """<cotangents, dF/dtheta> of the params that only terms without an energy read."""
        slopes = self.force_vjp(params, states, fixed, cotangents)[1]
        return {name: slopes[name] for name in self.FORCE_PARAMS}


class NudgedLayers(Network):
    """The network with params of its own."""

    names = {
        "params": ("V", "S", "U", "code.b", "g", "cell.W"),
        "states": ("code.z", "cell.z"),
        "clamps": ("x",),
        "targets": ("y",),
    }
    rules = {"tracking-aep": tracking_aep, "implicit": implicit}


# Carried: Relaxed, Gradients, relax, learned, visit, visited, settled, gone_back, copied, together, answer, implicit,
# tracking_aep, added, cotangent, Rest, Network, length, shaken, rms.
