"""deq: A deep equilibrium layer (Bai, Kolter, Koltun 2019): z = tanh(W z + U x + b).

Made by energyc 0.2.0 from deq.energy
SHA-256 of the spec: f9fde5a44b4ecebd6ed2de66abac423e06f92243b696dff29e80006611b5a637
Rules: implicit
Passes: hoist, share, separate, segments
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.scipy.sparse.linalg import gmres
from jax.typing import DTypeLike

I, D, K = 64, 128, 10


class Params(NamedTuple):
    """What is learned."""

    W: Array
    U: Array
    b: Array
    W_out: Array
    b_out: Array


class Clamps(NamedTuple):
    """What is given, a row for each sample."""

    x: Array


class Targets(NamedTuple):
    """What the cost compares with."""

    label: Array


class States(NamedTuple):
    """z[D], a row for each sample."""

    z: Array


class Fixed(NamedTuple):
    """Clamps, and what depends on clamps and params alone."""

    x: Array
    drive: Array


class Readouts(NamedTuple):
    """The answers."""

    logits: Array


STEP = States(1)
STEPS = 50
CHUNK = 25
MAX_STEPS = 500
TOLERANCE = 1e-05
EXPLOSION = 10000.0


def init(key: Array, dtype: DTypeLike = float) -> Params:
    """The first params, by the laws of the spec."""
    keys = jax.random.split(key, 3)
    return Params(
        W=0.044194173824159216 * jax.random.normal(keys[0], (D, D), dtype),
        U=0.1767766952966369 * jax.random.normal(keys[1], (D, I), dtype),
        b=jnp.full((D,), 0, dtype),
        W_out=0.125 * jax.random.normal(keys[2], (K, D), dtype),
        b_out=jnp.full((K,), 0, dtype),
    )


def prepare(params: Params, clamps: Clamps) -> Fixed:
    """What no step changes."""
    (x,) = clamps
    drive = x @ params.U.T + params.b
    return Fixed(x, drive)


def start(params: Params, fixed: Fixed) -> States:
    """Zeros."""
    return States(jnp.zeros((len(fixed[0]), D), params.W.dtype))


def force(params: Params, states: States, fixed: Fixed) -> States:
    """The force on each state.

    next z[d] = tanh(sum[e](W[d,e] * z[e]) + sum[i](U[d,i] * x[i]) + b[d])
    F_z[d] = tanh(b[d] + sum[e](W[d,e] * z[e]) + sum[i](x[i] * U[d,i])) - z[d]
    """
    (z,) = states
    tanh_argument = z @ params.W.T + fixed.drive
    force_z = jnp.tanh(tanh_argument) - z
    return States(force_z)


def readouts(params: Params, states: States, fixed: Fixed) -> Readouts:
    """The answers.

    readout logits[k] = sum[d](W_out[k,d] * z[d]) + b_out[k]
    """
    (z,) = states
    logits = z @ params.W_out.T + params.b_out
    return Readouts(logits)


def cost(params: Params, states: States, fixed: Fixed, targets: Targets) -> Array:
    """The cost of each sample.

    cost ce = cross_entropy[k](logits[k], label)
    """
    (z,) = states
    (label,) = targets
    scores = z @ params.W_out.T + params.b_out
    logsumexp = jax.nn.logsumexp(scores, 1)
    cost = logsumexp - jnp.take_along_axis(scores, label[:, None], 1).squeeze(1)
    return cost


def metrics(params: Params, states: States, fixed: Fixed, targets: Targets) -> dict[str, Array]:
    """What is only reported.

    metric accuracy = correct[k](logits[k], label)
    """
    (z,) = states
    (label,) = targets
    accuracy_part = z @ params.W_out.T + params.b_out
    accuracy_part_2 = first_largest(accuracy_part, 1)
    accuracy = jnp.take_along_axis(accuracy_part_2, label[:, None], 1).squeeze(1)
    return {"accuracy": accuracy}


def cost_vjp(params: Params, states: States, fixed: Fixed, targets: Targets) -> tuple[States, Slopes]:
    """dC/dz of each sample; and the direct dC/dtheta.

    dC/dz[d] = sum[k](W_out[k,d] * (softmax[k](b_out[k] + sum[e](W_out[k,e] * z[e])) - where(k == label, 1, 0)))
    dC/dW_out[k,d] = z[d] * (softmax[k](b_out[k] + sum[e](W_out[k,e] * z[e])) - where(k == label, 1, 0))
    dC/db_out[k] = softmax[k](b_out[k] + sum[d](W_out[k,d] * z[d])) - where(k == label, 1, 0)
    """
    (z,) = states
    (label,) = targets
    label_one_hot = 1.0 * (jnp.arange(K) == label[:, None])
    scores = z @ params.W_out.T + params.b_out
    weights = jax.nn.softmax(scores, 1)
    grad_b_out = weights - label_one_hot
    slope_z = grad_b_out @ params.W_out
    return States(slope_z), {"W_out": grad_b_out.T @ z, "b_out": grad_b_out.sum(0)}


def force_vjp(params: Params, states: States, fixed: Fixed, cotangents: States) -> tuple[States, Slopes]:
    """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
    (z,) = states
    (cot_z,) = cotangents
    tanh_argument = z @ params.W.T + fixed.drive
    tanh = jnp.tanh(tanh_argument)
    grad_b_part = -(tanh * tanh) + 1
    grad_b = cot_z * grad_b_part
    back_z = grad_b @ params.W - cot_z
    return States(back_z), {"W": grad_b.T @ z, "U": grad_b.T @ fixed.x, "b": grad_b.sum(0)}


def clamp_gradient(params: Params, states: States, fixed: Fixed, cotangents: States) -> Slopes:
    """<cotangents, dF/dx> for each real clamp."""
    (z,) = states
    (cot_z,) = cotangents
    tanh_argument = z @ params.W.T + fixed.drive
    tanh = jnp.tanh(tanh_argument)
    grad_x_part = -(tanh * tanh) + 1
    grad_x = cot_z * grad_x_part @ params.U
    return {"x": grad_x}


def readout_vjp(params: Params, states: States, fixed: Fixed, cotangents: Readouts) -> tuple[States, Slopes]:
    """<cotangents, d readouts> by states, and by params and clamps."""
    (z,) = states
    (cot_logits,) = cotangents
    back_z = cot_logits @ params.W_out
    return States(back_z), {"W_out": cot_logits.T @ z, "b_out": cot_logits.sum(0)}


#: Slopes by the fields of params and clamps, those of params summed over the batch.
Slopes = dict[str, Array]


class Relaxed(NamedTuple):
    """Where a relaxation ended: states, and of each sample the residual, infinite if it exploded, and the steps."""

    states: States
    residual: Array
    steps: Array


class Gradients(NamedTuple):
    """The gradient of the mean cost, the cost of each sample, and the free phase that they belong to."""

    params: Params
    cost: Array
    free: Relaxed


def moved(states: States, slopes: States) -> States:
    """Each state by its step size along a force."""
    return jax.tree.map(lambda z, f, h: z + h * f, states, slopes, STEP)


def step(params: Params, states: States, fixed: Fixed) -> States:
    """One step: each state along its force, then onto its set."""
    return project(moved(states, force(params, states, fixed)))


def residual(params: Params, states: States, fixed: Fixed) -> Array:
    """The largest relative change of a state in the next step, of each sample."""
    return change(step(params, states, fixed), states)


def change(after: States, before: States) -> Array:
    """The largest ``|after - before| / (|before| + 1e-12)`` of a state, infinite where it is not finite."""
    ratios = [length(a - b) / (length(b) + 1e-12) for a, b in zip(after, before, strict=True)]
    return jnp.nan_to_num(jnp.stack(ratios).max(0), nan=jnp.inf)


def length(x: Array) -> Array:
    """The Euclidean norm of each sample."""
    return jnp.sqrt((x * x).reshape(len(x), -1).sum(1))


def chosen(rows: Array, yes: States, no: States) -> States:
    """Of some samples one, of the others another."""
    return jax.tree.map(lambda y, n: jnp.where(rows.reshape(-1, *[1] * (y.ndim - 1)), y, n), yes, no)


def settle(params: Params, states: States, fixed: Fixed) -> Relaxed:
    """STEPS steps; then CHUNK more, MAX_STEPS at most, of the samples whose residual is above TOLERANCE."""

    def walk(states: States, count: Array | int) -> States:
        return lax.fori_loop(0, count, lambda _, z: step(params, z, fixed), states)

    def goes_on(run: tuple[Relaxed, Array]) -> Array:
        free, done = run
        return unsettled(free).any() & (done < MAX_STEPS)

    def further(run: tuple[Relaxed, Array]) -> tuple[Relaxed, Array]:
        free, done = run
        on, count = unsettled(free), jnp.minimum(CHUNK, MAX_STEPS - done)
        states = chosen(on, walk(free.states, count), free.states)
        left = jnp.where(on, residual(params, states, fixed), free.residual)
        return Relaxed(states, left, free.steps + jnp.where(on, count, 0)), done + count

    states = walk(states, STEPS)
    left = residual(params, states, fixed)
    first = Relaxed(states, left, jnp.full(left.shape, STEPS))
    return lax.while_loop(goes_on, further, (first, jnp.asarray(STEPS)))[0]


def unsettled(free: Relaxed) -> Array:
    """The samples that go on."""
    return jnp.isfinite(free.residual) & (free.residual > TOLERANCE)


def relax(params: Params, clamps: Clamps) -> Relaxed:
    """Let the states relax from their start."""
    return free_phase(params, prepare(params, clamps))


def free_phase(params: Params, fixed: Fixed) -> Relaxed:
    """The same, with what is fixed in it; a sample that exploded until rounding stopped it did not settle."""
    before = project(start(params, fixed))
    free = settle(params, before, fixed)
    scale = jnp.maximum(1.0, jnp.stack([jnp.abs(x).max() for x in before]).max())
    largest = jnp.stack([jnp.abs(x).reshape(len(x), -1).max(1) for x in free.states]).max(0)
    displaced = type(free.states)(*map(shaken, free.states))
    stuck = (largest > EXPLOSION * scale) & immobile(params, free.states, fixed) & immobile(params, displaced, fixed)
    return free._replace(residual=jnp.where(stuck, jnp.inf, free.residual))


def immobile(params: Params, states: States, fixed: Fixed) -> Array:
    """The samples most of whose coordinates a step moves by less than an ulp."""
    ulp = jnp.finfo(states[0].dtype).eps / 2
    slopes = force(params, states, fixed)
    still = [
        (jnp.abs(h * f) < ulp * jnp.abs(x)).reshape(len(x), -1) for x, f, h in zip(states, slopes, STEP, strict=True)
    ]
    return jnp.concatenate(still, 1).mean(1) > 0.5


def shaken(x: Array) -> Array:
    """The state with its coordinates a little larger and smaller in turn: at rest it would be pushed back."""
    width = float(jnp.finfo(x.dtype).eps) ** 0.25
    turns = jnp.arange(x[0].size).reshape(x.shape[1:]) % 2
    return x * (1 + width - 2 * width * turns)


def averaged(params: Params, free: Relaxed, fixed: Fixed, targets: Targets, slopes: Sequence[Slopes]) -> Gradients:
    """Slopes added up, over the number of samples; NaN where a sample exploded, so that nobody learns from it."""
    share = jnp.where(jnp.isfinite(free.residual).all(), 1.0, jnp.nan) / len(free.residual)
    mean = {name: share * added(name, x, slopes) for name, x in params._asdict().items()}
    return Gradients(type(params)(**mean), cost(params, free.states, fixed, targets), free)


def added(name: str, like: Array, slopes: Sequence[Slopes]) -> Array:
    """The slopes by one name, added up; zeros where there are none."""
    return sum((part[name] for part in slopes if name in part), jnp.zeros_like(like))


def implicit(params: Params, clamps: Clamps, targets: Targets) -> Gradients:
    """The exact gradient at an equilibrium.

    lambda = dC/dz + (I + step J)^T P^T lambda,    dC/dtheta = <step P^T lambda, dF/dtheta> + direct
    """
    fixed = prepare(params, clamps)
    free = free_phase(params, fixed)
    seeds, direct = cost_vjp(params, free.states, fixed, targets)
    pushed = solved(params, free.states, fixed, seeds)
    return averaged(params, free, fixed, targets, [force_vjp(params, free.states, fixed, pushed)[1], direct])


def solved(params: Params, states: States, fixed: Fixed, seeds: States) -> States:
    """``step P^T lambda`` of the adjoint equation, by repeating the transposed step, then by GMRES.

    NaN of all samples where neither comes to rest: there may be no isolated equilibrium.
    """
    goal = 1e-12 if states[0].dtype == jnp.float64 else 1e-5
    at, size = moved(states, force(params, states, fixed)), norm(seeds)

    def back(a: States) -> States:
        """(I + step J)^T P^T a."""
        projected = project_vjp(at, a)
        pushed = force_vjp(params, states, fixed, along(projected))[0]
        return jax.tree.map(jnp.add, projected, pushed)

    def rest(a: States) -> States:
        return jax.tree.map(jnp.subtract, a, back(a))

    def goes_on(run: tuple[States, Array, Array]) -> Array:
        _, left, count = run
        return (left > goal * size).any() & (count < 200)

    def further(run: tuple[States, Array, Array]) -> tuple[States, Array, Array]:
        a, _, count = run
        after = jax.tree.map(jnp.add, seeds, back(a))
        return after, norm(jax.tree.map(jnp.subtract, after, a)), count + 1

    a, left, _ = lax.while_loop(goes_on, further, (seeds, jnp.full_like(size, jnp.inf), jnp.asarray(0)))
    near = jnp.isfinite(left).all() & (left <= size).all()
    first = jax.tree.map(lambda x, s: jnp.where(near, x, s), a, seeds)

    def by_gmres(_: States) -> States:
        return gmres(rest, seeds, first, tol=goal / 10, restart=60, maxiter=40)[0]

    a = lax.cond((left <= goal * size).all(), lambda x: x, by_gmres, first)
    wrong = norm(jax.tree.map(jnp.subtract, rest(a), seeds)) > 1e3 * goal * size
    return jax.tree.map(lambda x: jnp.where(wrong.any(), jnp.nan, x), along(project_vjp(at, a)))


def along(states: States) -> States:
    """Each state times its step size."""
    return jax.tree.map(lambda x, h: h * x, states, STEP)


def norm(states: States) -> Array:
    """The Euclidean norm of all states of a sample."""
    return jnp.sqrt(sum(length(x) ** 2 for x in states))


@jax.custom_vjp
def answer(params: Params, clamps: Clamps) -> Readouts:
    """The readouts at rest, differentiable by the implicit function theorem in params and real clamps."""
    fixed = prepare(params, clamps)
    return readouts(params, free_phase(params, fixed).states, fixed)


def answer_forward(params: Params, clamps: Clamps) -> tuple[Readouts, tuple[Params, Clamps, Fixed, States]]:
    """The readouts, and what the way back needs."""
    fixed = prepare(params, clamps)
    states = free_phase(params, fixed).states
    return readouts(params, states, fixed), (params, clamps, fixed, states)


def answer_backward(kept: tuple[Params, Clamps, Fixed, States], cotangents: Readouts) -> tuple[Params, Clamps]:
    """The cotangents of params and clamps."""
    params, clamps, fixed, states = kept
    seeds, direct = readout_vjp(params, states, fixed, cotangents)
    pushed = solved(params, states, fixed, seeds)
    slopes = [direct, force_vjp(params, states, fixed, pushed)[1], clamp_gradient(params, states, fixed, pushed)]
    of_params = {name: added(name, x, slopes) for name, x in params._asdict().items()}
    of_clamps = {name: cotangent(name, x, slopes) for name, x in clamps._asdict().items()}
    return type(params)(**of_params), type(clamps)(**of_clamps)


def cotangent(name: str, clamp: Array, slopes: list[dict[str, Array]]) -> Array | np.ndarray:
    """That of a clamp: integers have none."""
    if jnp.issubdtype(clamp.dtype, jnp.floating):
        return added(name, clamp, slopes)
    return np.zeros(clamp.shape, jax.dtypes.float0)


answer.defvjp(answer_forward, answer_backward)


def project(states: States) -> States:
    """The states are in no set."""
    return states


def project_vjp(at: States, cotangents: States) -> States:
    """The adjoint of nothing."""
    return cotangents


def first_largest(x: Array, axes: int | tuple[int, ...]) -> Array:
    """1 at the first largest entry along the axes, else 0; 0 where every entry is -inf."""
    axes = (axes,) if isinstance(axes, int) else axes
    order = (*(k for k in range(x.ndim) if k not in axes), *axes)
    moved = x.transpose(order)
    flat = moved.reshape(*moved.shape[: -len(axes)], -1)
    hot = (jnp.arange(flat.shape[-1]) == flat.argmax(-1, keepdims=True)) & (flat.max(-1, keepdims=True) > -jnp.inf)
    return 1.0 * hot.reshape(moved.shape).transpose(tuple(np.argsort(order)))


class Rest(NamedTuple):
    """Where a relaxation ended: states by name, the residual and the steps of each sample."""

    states: dict[str, Array]
    residual: Array
    steps: Array


class Network:
    """A network with params of its own; params, clamps and targets are arrays by the names of the spec.

    Raises ValueError for float64 where JAX is not told to use it, for a rule that is not in the module, and for inputs
    that are missing or unknown.
    """

    names: ClassVar[Mapping[str, tuple[str, ...]]]
    rules: ClassVar[Mapping[str, Callable[..., Gradients]]] = {}

    def __init__(self, device: object = None, dtype: object = None, seed: int = 0) -> None:
        self.dtype = jnp.dtype(str(dtype or "float32").removeprefix("torch."))
        if self.dtype == jnp.float64 and not jax.config.jax_enable_x64:
            raise ValueError('JAX uses float64 only after jax.config.update("jax_enable_x64", True)')
        drawn = init(jax.random.key(seed), self.dtype)
        self.params = {name: np.array(x) for name, x in zip(self.names["params"], drawn, strict=True)}

    def relax(self, clamps: Mapping[str, Any]) -> Rest:
        """Let the states relax."""
        free = jax.jit(relax)(*self.given(clamps))
        return Rest(dict(zip(self.names["states"], free.states, strict=True)), free.residual, free.steps)

    def gradients(
        self, clamps: Mapping[str, Any], targets: Mapping[str, Any], rule: str | None = None
    ) -> dict[str, Array]:
        """The gradient of the mean cost by a rule of the module, by default its first."""
        rule = rule or next(iter(self.rules), "")
        if rule not in self.rules:
            raise ValueError(f"there is no rule {rule} in this module, but {', '.join(self.rules) or 'none'}")
        aims = Targets(**self.ordered("targets", targets))
        found = jax.jit(self.rules[rule])(*self.given(clamps), aims)
        return dict(zip(self.names["params"], found.params, strict=True))

    def given(self, clamps: Mapping[str, Any]) -> tuple[Params, Clamps]:
        """Params and clamps as the functions of the module take them."""
        return Params(*map(jnp.asarray, self.params.values())), Clamps(**self.ordered("clamps", clamps))

    def ordered(self, kind: str, arrays: Mapping[str, Any]) -> dict[str, Array]:
        """Arrays by the fields of their record; real ones in the dtype of the params."""
        if set(arrays) != set(self.names[kind]):
            raise ValueError(f"the {kind} are {', '.join(self.names[kind])}, not {', '.join(arrays)}")
        record = {"clamps": Clamps, "targets": Targets}[kind]
        made = [jnp.asarray(np.asarray(arrays[name])) for name in self.names[kind]]
        real = [x.astype(self.dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x for x in made]
        return dict(zip(record._fields, real, strict=True))


class Deq(Network):
    """The network with params of its own."""

    names = {"params": ("W", "U", "b", "W_out", "b_out"), "states": ("z",), "clamps": ("x",), "targets": ("label",)}
    rules = {"implicit": implicit}
