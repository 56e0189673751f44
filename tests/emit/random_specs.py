"""Random specs, as text: every feature of the language in arrangements that nobody would write.

Expressions are bounded (sums are means or pass through tanh, denominators and roots stay away from 0), so that a
difference between two back ends is an error and no rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

#: Names that mean something to Python, torch, nn.Module or the generated code, and mean nothing to a spec.
NASTY = tuple(
    """
    lambda class None True torch nn F math self forward train_ params device dtype states fixed targets seeds clamps T
    Tensor print sum_ len float_ relu_ weights total product level match power part drive pull_z force_z rows Fixed
    windows overlap_add positions softmax_ or_zero scatter_add import_ def_ return_ yield global async await match_ case
    _anchor _force state_dict parameters buffers half double add_module register_buffer __init__ __class__ __dict__ _ __
    names name energy_ beta step_ gmres How Path Phase Gradients Relaxed super property staticmethod random seed v_z
    W_q b_1 X Y H q k z y x s u w E C_ J list dict set zip range torch_ self_ is as if else for while from seed_z
    einsum expand mask position mask_2 states_2 zeros_ones B I0 type Free Held Lets lets stack drive_2 F_ itertools
    """.split()
)
_UNARY = tuple(
    """
    tanh sigmoid relu silu softplus gelu gelu_tanh logsigmoid sin cos abs exp_ log_ sqrt_ square recip half_power cube
    slope user phi negate
    """.split()
)
#: What a spec of ``real`` draws has besides.
_LATER = ("erf", "leaky_relu", "leak")


_KINKED = frozenset({"relu", "gelu", "abs", "max"})


@dataclass(frozen=True)
class Real:
    """A real tensor that an expression may read."""

    name: str
    dims: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class Whole:
    """An integer clamp: elements of dim ``over``."""

    name: str
    dims: tuple[str, ...]
    over: str


Env = dict[str, str]


@dataclass
class SpecMaker:
    """One spec on its way; ``text`` gives it."""

    random: Random
    lines: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    reals: list[Real] = field(default_factory=list)
    wholes: list[Whole] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    norms: list[str] = field(default_factory=list)
    potentials: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    allowed: frozenset[str] = frozenset({"param", "clamp", "state", "let"})
    depth: int = 3
    holomorphic: bool = False
    tick: Whole | None = None
    timed: bool = (
        False  # also what the runtime sets: noise, the number of the step, training; and statistics of the batch
    )
    real: bool = False  # also conditions on real values and what is made of them
    _count: int = 0

    # ------------------------------------------------------------ names and choices

    def name(self, wish: str = "v") -> str:
        """A fresh name, a nasty one now and then."""
        if self.random.random() < 0.5:
            free = [n for n in NASTY if n not in self.used]
            chosen = self.random.choice(free)
        else:
            self._count += 1
            chosen = f"{wish}{self._count}"
        self.used.add(chosen)
        return chosen

    def index(self) -> str:
        """A fresh index name."""
        self._count += 1
        letters = "ijklmnabcdefghpqrtuvw"
        return f"{letters[self._count % len(letters)]}{self._count}"

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    @contextmanager
    def only(self, *kinds: str) -> Iterator[None]:
        """Expressions that read tensors of these kinds alone."""
        kept, self.allowed = self.allowed, frozenset(kinds)
        try:
            yield
        finally:
            self.allowed = kept

    # ------------------------------------------------------------ expressions

    def expr(self, env: Env, depth: int) -> str:
        """A real expression over the indices of env."""
        if depth <= 0:
            return self.atom(env)
        forms = [
            self.product,
            self.product,
            self.sum_of_terms,
            self.unary,
            self.unary,
            self.reduced,
            self.reduced,
            self.reduced,
            self.quotient,
            self.atom_of,
            self.soft,
            self.soft,
            self.selected,
            self.stopped,
            self.normalised,
            self.number_of,
        ]
        forms += [self.compared, self.compared] if self.real else []
        return self.random.choice(forms)(env, depth)

    def atom_of(self, env: Env, depth: int) -> str:
        return self.atom(env)

    def product(self, env: Env, depth: int) -> str:
        n = self.random.choice((2, 2, 3))
        parts = [self.expr(env, depth - self.random.choice((1, 1, 2))) for _ in range(n)]
        if self.maybe(0.15):
            parts.append(parts[0])
        return " * ".join(f"({p})" if not _simple(p) else p for p in parts)

    def sum_of_terms(self, env: Env, depth: int) -> str:
        a, b = self.expr(env, depth - 1), self.expr(env, depth - 1)
        factor = self.random.choice(("", "2 * ", "1/3 * ", "0.7 * ", f"{self.const()} * "))
        return f"({a} {self.random.choice('+-')} {factor}({b}))"

    def const(self) -> str:
        return self.random.choice(("gamma_", "tau_", "half_dim", *(f"1/{d}" for d in self.sizes)))

    def quotient(self, env: Env, depth: int) -> str:
        a, b = self.expr(env, depth - 1), self.expr(env, depth - 1)
        return f"(({a}) / (2 + ({b})^2))"

    def unary(self, env: Env, depth: int) -> str:
        u = self.expr(env, depth - 1)
        form = self.smooth((*_UNARY, *(_LATER if self.real else ())), "tanh")
        match form:
            case "exp_":
                return f"exp(tanh({u}))"
            case "log_":
                return f"log(3/2 + tanh({u}))"
            case "sqrt_":
                return f"sqrt(1/4 + ({u})^2)"
            case "square":
                return f"tanh({u})^2"
            case "cube":
                return f"tanh({u})^{self.random.choice((3, 4))}"
            case "recip":
                return f"(3/2 + sigmoid({u}))^(-{self.random.choice((1, 2))})"
            case "half_power":
                return f"(1 + ({u})^2)^({self.random.choice(('1/2', '-1/2', '3/2', '-3/2', '1/3'))})"
            case "leak":
                return f"leaky_relu{self.random.choice(('', chr(39)))}({u}, {self.random.choice(('1/5', 'gamma_'))})"
            case "slope":
                return f"{self.smooth(('tanh', 'silu', 'gelu', 'gelu_tanh', 'softplus', 'sigmoid'), 'tanh')}'({u})"
            case "user" if self.functions:
                return f"{self.random.choice(self.functions)}({u})"
            case "phi" if self.potentials:
                return f"{self.random.choice(self.potentials)}({u})"
            case "negate" | "user" | "phi":
                return f"(-({u}))"
        return f"{form}({u})"

    def smooth(self, choices: Sequence[str], instead: str) -> str:
        """One of the choices; what has no holomorphic extension is replaced where one is asked for."""
        chosen = self.random.choice(choices)
        return instead if self.holomorphic and chosen in _KINKED else chosen

    def reduced(self, env: Env, depth: int) -> str:
        """sum, mean, max, variance or logsumexp over one to three fresh indices, with or without a guard."""
        inner, binders = self.bound(self.random.choice((1, 1, 2, 2, 3)), len(env))
        if not binders:
            return self.atom(env)
        ops = ("sum", "sum", "mean", "max", "variance", "logsumexp", "logsumexp", *(("min",) if self.real else ()))
        op = self.smooth(ops, "sum")
        u = self.expr({**env, **inner}, depth - 1)
        if op in ("max", "min"):  # ties of things that are equal only up to rounding are not tests
            u = f"{self.atom({**env, **inner})} + 0.1 * {self.distinct(inner)}"
        guard = "" if op in ("variance",) else self.guarded({**env, **inner}, inner, 0.35)
        text = f"{op}[{', '.join(binders)}{guard}]({u})"
        return f"tanh({text})" if op == "sum" and self.maybe(0.5) else text

    def distinct(self, inner: Env) -> str:
        return "cos(" + " + ".join(f"{1 + 7 * k}.3 * {i}" for k, i in enumerate(inner)) + ")"

    def bound(self, count: int, outer: int) -> tuple[Env, list[str]]:
        count = max(0, min(count, 5 - outer))
        inner = {self.index(): self.random.choice([d for d in self.sizes if self.sizes[d] <= 4]) for _ in range(count)}
        return inner, [f"{i} in {d}" for i, d in inner.items()]

    def soft(self, env: Env, depth: int) -> str:
        """softmax or a normaliser along indices of env that the expression is sure to have."""
        inner, binders = self.bound(self.random.choice((1, 1, 2)), len(env))
        if not binders:
            return self.unary(env, depth)
        everything = {**env, **inner}
        weights = (
            f"softmax[{', '.join(inner)}{self.guarded(everything, inner, 0.4)}]({self.expr(everything, depth - 1)})"
        )
        outer_guard = self.guarded(everything, inner, 0.2)
        return f"sum[{', '.join(binders)}{outer_guard}]({weights} * ({self.expr(everything, depth - 2)}))"

    def normalised(self, env: Env, depth: int) -> str:
        if not env:
            return self.atom(env)
        along = self.random.choice(list(env))
        if self.sizes[env[along]] < 2:
            return self.atom(env)
        form = self.random.choice(("layernorm", "rmsnorm", "standardize", "softmax", "layernorm_eps", "user"))
        u = f"{self.distinct({along: env[along]})} + {self.expr(env, depth - 1)}"
        if form == "layernorm_eps":
            return f"layernorm[{along}]({u}, eps = 0.1)"
        if form == "user":
            if not self.norms:
                return self.atom(env)
            return f"{self.random.choice(self.norms)}[{along}]({u})"
        return f"{form}[{along}]({u})"

    def selected(self, env: Env, depth: int) -> str:
        return f"where({self.condition(env, 2)}, {self.expr(env, depth - 1)}, {self.expr(env, depth - 2)})"

    def compared(self, env: Env, depth: int) -> str:
        """A selection by real values; the odd numbers keep what is compared apart."""
        a, b = self.expr(env, depth - 1), self.expr(env, depth - 2)
        match self.random.choice(("max", "min", "clip", "where", "where")):
            case "clip":
                return f"clip({a}, -0.7137, 0.3719 * {self.random.choice(('1', f'sqrt(1 + ({b})^2)'))})"
            case "where":
                other = self.sheltered(env) if self.maybe(0.3) else b
                return f"where({self.test(env, depth - 1)}, {a}, {other})"
            case extreme:
                third = f", 0.2713 + tanh({self.atom(env)})" if self.maybe(0.3) else ""
                return f"{extreme}({a}, 0.0371 + {b}{third})"

    def test(self, env: Env, depth: int) -> str:
        """A condition on real values, maybe joined with another, or with one on indices."""
        if depth > 0 and self.maybe(0.3):
            other = self.condition(env, 1) if self.maybe(0.4) else self.test(env, depth - 1)
            return f"({self.test(env, depth - 1)} {self.random.choice(('and', 'or'))} {other})"
        if self.maybe(0.1):
            return f"(not {self.test(env, 0)})"
        u = self.expr(env, min(depth, 1))
        if self.maybe(0.2):
            return f"-0.3517 < {u} <= 0.4171"
        return f"{u} {self.random.choice(('<', '<=', '>', '>='))} 0.0371"

    def sheltered(self, env: Env) -> str:
        """A selection of which the other side has no value everywhere."""
        u = self.atom(env)
        return self.random.choice((f"where({u} > 0.1317, log({u}), 0.4 * {u})", f"where({u} < 0.2171, {u}, 1 / {u}^2)"))

    def stopped(self, env: Env, depth: int) -> str:
        if self.maybe(0.4):
            return self.expr(env, depth - 1)
        if self.timed and self.maybe(0.5):
            return f"{self.random.choice(('mean', 'median'))}[batch]({self.expr(env, depth - 1)})"
        return f"{self.random.choice(('frozen', 'detach'))}({self.expr(env, depth - 1)})"

    def number_of(self, env: Env, depth: int) -> str:
        """Arithmetic on indices as a number."""
        if not env:
            return self.atom(env)
        return f"({self.random.choice(('0.1', '-1/7', '1/9'))} * {self.whole(env)}) * {self.atom(env)}"

    # ------------------------------------------------------------ indices

    def whole(self, env: Env) -> str:
        """An integer made of indices."""
        parts = [self.random.choice(list(env)) for _ in range(self.random.choice((1, 1, 2)))]
        parts = [f"{self.random.choice((2, 3))} * {p}" if self.maybe(0.2) else p for p in parts]
        text = f" {self.random.choice('+-')} ".join(parts)
        if self.maybe(0.3):
            text += f" {self.random.choice('+-')} {self.random.choice((1, 2))}"
        return f"({text})" if " " in text else text

    def condition(self, env: Env, depth: int) -> str:
        if depth > 0 and self.maybe(0.25):
            left, right = self.condition(env, depth - 1), self.condition(env, depth - 1)
            return f"({left} {self.random.choice(('and', 'or'))} {right})"
        if depth > 0 and self.maybe(0.1):
            return f"(not {self.condition(env, depth - 1)})"
        if self.timed and self.maybe(0.2):
            return "training"
        if self.wholes and self.maybe(0.35):
            whole = self.random.choice(self.wholes)
            slots = [self.place(d, env) for d in whole.dims]
            if all(slots):
                left = whole.name + (f"[{', '.join(slots)}]" if slots else "")  # type: ignore[arg-type]
                right = self.whole(env) if env and self.maybe(0.8) else "1"
                if right in env and env[right] != whole.over:  # dims are told apart here too
                    right = f"2 * {right}"
                return f"{left} {self.random.choice(('==', '!=', '<', '<=', '>', '>='))} {right}"
        if not env:
            return "1 < 2" if not self.wholes else "2 > 1"
        if self.maybe(0.15):
            return f"0 <= {self.whole(env)} < {self.random.choice((2, 3))}"
        right = self.whole(env) if self.maybe(0.7) else str(self.random.choice((0, 1, 2)))
        return f"{self.whole(env)} {self.random.choice(('==', '!=', '<', '<=', '>', '>='))} {right}"

    def guarded(self, env: Env, inner: Env, chance: float) -> str:
        return f" | {self.condition(env, 1)}" if self.maybe(chance) else ""

    def place(self, dim: str, env: Env) -> str | None:
        """A plain index over dim, the number of the step where it is known, or a fixed place."""
        plain = [i for i, d in env.items() if d == dim]
        if self.tick in self.wholes and self.tick.over == dim and self.maybe(0.5):
            return self.tick.name
        if plain and self.maybe(0.9):
            return self.random.choice(plain)
        return self.random.choice(("0", f"{dim} - 1"))

    def slot(self, dim: str, env: Env) -> tuple[str, str | None]:
        """An index of a real tensor, and the guard that keeps it inside, if it needs one."""
        plain = [i for i, d in env.items() if d == dim]
        roll = self.random.random()
        if plain and roll < 0.6:
            return self.random.choice(plain), None
        if roll < 0.75 and (gather := self.gather(dim, env)):
            return gather, None
        if roll < 0.93 and (window := self.window(dim, env)):
            return window
        if plain:
            return self.random.choice(plain), None
        return self.random.choice(("0", f"{dim} - 1", "1" if self.sizes[dim] > 1 else "0")), None

    def gather(self, dim: str, env: Env) -> str | None:
        tables = [w for w in self.wholes if w.over == dim and (w.dims or self.timed)]
        if not tables:
            return None
        table = self.random.choice(tables)
        slots = [self.place(d, env) for d in table.dims]
        return f"{table.name}[{', '.join(s for s in slots if s)}]" if slots else table.name

    def window(self, dim: str, env: Env) -> tuple[str, str | None] | None:
        """An affine index; strides of any sign."""
        if not env:
            return None
        chosen = self.random.sample(list(env), min(len(env), self.random.choice((1, 1, 2))))
        strides = [self.random.choice((1, 1, 1, 2, -1, -2)) for _ in chosen]
        offset = self.random.choice((-2, -1, 0, 0, 1, 2, 3))
        reach = [s * (self.sizes[env[i]] - 1) for s, i in zip(strides, chosen, strict=True)]
        low, high = offset + sum(min(0, r) for r in reach), offset + sum(max(0, r) for r in reach)
        text = _affine(chosen, strides, offset)
        if text in env:  # a plain index runs over its own dim
            text = f"{text} + 0 * {text}" if env[text] == dim else f"{text} + {text} - {text}"
        inside = low >= 0 and high < self.sizes[dim]
        return text, None if inside else f"0 <= {text} < {dim}"

    def atom(self, env: Env) -> str:
        """An element of a tensor, summed over what env lacks or read at a place."""
        reals = [r for r in self.reals if r.kind in self.allowed]
        if not reals or self.maybe(0.05):
            return self.random.choice(("1/2", "0.3", "gamma_", "2"))
        real = self.random.choice(reals)
        slots, guards = [], []
        for dim in real.dims:
            text, guard = self.slot(dim, env)
            slots.append(text)
            guards += [guard] if guard else []
        text = real.name + (f"[{', '.join(slots)}]" if slots else "")
        if guards:
            return f"where({' and '.join(guards)}, {text}, {self.random.choice(('0', '0', '1/2'))})"
        return text

    # ------------------------------------------------------------ the statements

    def text(self) -> str:
        """The spec."""
        r = self.random
        self.used.add("spec_under_test")
        self._dims()
        self.lines.append("const gamma_ = 1/4, tau_ = 0.37, half_dim = 1/2")
        self.used.update({"gamma_", "tau_", "half_dim"})
        if self.timed:
            self.tick = Whole(self.name("t"), (), r.choice(list(self.sizes)))
        self._clamps()
        self._params()
        self._states()
        self._functions()
        for _ in range(r.choice((0, 1, 2, 3))):
            self._let()
        for state in self._of("state"):
            if self.maybe(0.5):
                self._start(state)
        self._energies()
        for _ in range(r.choice((0, 0, 1, 2))):
            self._force()
        self._readouts()
        self._cost()
        self._settle()
        return "network spec_under_test\n" + "\n".join(self.lines) + f"\n{self._relax()}\nnudge {{ steps = 2 }}\n"

    def _relax(self) -> str:
        if self.tick is None:
            return "relax { step = 0.05, steps = 3 }"
        return f"relax {self.tick.name} in {self.tick.over} {{ step = 0.05 }}"

    def _of(self, kind: str) -> list[Real]:
        return [r for r in self.reals if r.kind == kind]

    def _dims(self) -> None:
        for _ in range(self.random.choice((2, 3, 4))):
            name = self.name("D")
            self.sizes[name] = self.random.choice((1, 2, 3, 3, 4))
        base = self.random.choice(list(self.sizes))
        wide = self.name("W")
        self.lines.append(
            "dim " + ", ".join(f"{n} = {v}" for n, v in self.sizes.items()) + f", {wide} = 2 * {base} + 2"
        )
        self.sizes[wide] = 2 * self.sizes[base] + 2

    def _shape(self, ranks: tuple[int, ...]) -> tuple[str, ...]:
        small = [d for d, n in self.sizes.items() if n <= 4]
        rank = self.random.choice(ranks)
        return tuple(self.random.choice(small if k > 1 else list(self.sizes)) for k in range(rank))

    def _clamps(self) -> None:
        for _ in range(self.random.choice((1, 2))):
            self._declare("clamp", self._shape((0, 1, 2, 3)))
        if self.timed:
            dims = self._shape((0, 1, 2))
            noise = self.name("eps")
            self.reals.append(Real(noise, dims, "clamp"))
            self.lines.append(f"noise {noise}{_dims(dims)} ~ normal(0.5)")
        for _ in range(self.random.choice((0, 1, 2, 3))):
            whole = Whole(self.name("idx"), self._shape((0, 1, 1, 2, 2)), self.random.choice(list(self.sizes)))
            self.wholes.append(whole)
            self.lines.append(f"clamp {whole.name}{_dims(whole.dims)} : {whole.over}")

    def _declare(self, kind: str, dims: tuple[str, ...], tail: str = "") -> Real:
        real = Real(self.name(kind[0]), dims, kind)
        self.reals.append(real)
        self.lines.append(f"{kind} {real.name}{_dims(dims)}{tail}")
        return real

    def _params(self) -> None:
        laws = (" ~ normal(0.5)", " ~ glorot", " = 0", " = 1/2", " ~ uniform(0.1, 0.9) in [0.1, 1]", " ~ kaiming")
        for _ in range(self.random.choice((1, 2, 3, 4))):
            param = self._declare("param", self._shape((0, 1, 2, 2, 3, 4)), self.random.choice(laws))
            if len(param.dims) >= 2 and self.maybe(0.3):
                self._tie(param)

    def _tie(self, param: Real) -> None:
        order = list(range(len(param.dims)))
        self.random.shuffle(order)
        names = [self.index() for _ in order]
        tied = Real(self.name("tie"), tuple(param.dims[k] for k in order), "param")
        self.lines.append(f"tie {tied.name}[{', '.join(names[k] for k in order)}] = {param.name}[{', '.join(names)}]")
        self.reals.append(tied)

    def _states(self) -> None:
        for _ in range(self.random.choice((1, 2, 2, 3))):
            dims = self._shape((0, 1, 1, 2, 2, 3, 4))
            self._declare("state", dims, self._set(dims))

    def _set(self, dims: tuple[str, ...]) -> str:
        wide = [d for d in dict.fromkeys(dims) if self.sizes[d] > 1 and dims.count(d) == 1]
        sets = ["", "", " in [-1, 1]", " in nonnegative", " in [0, 2]"]
        for d in wide:
            sets += [f" in {self.random.choice(('standardized', 'sphere', 'simplex'))}[{d}]"]
        if len(wide) > 1:
            sets.append(f" in {self.random.choice(('standardized', 'sphere', 'simplex'))}[{wide[0]}, {wide[1]}]")
        return self.random.choice(sets)

    def _functions(self) -> None:
        if self.maybe(0.5):
            name, u = self.name("f"), self.name("u")
            kinked = f"{u} / (1 + abs({u}))" if not self.holomorphic else f"sin({u})"
            body = self.random.choice(
                (kinked, f"tanh({u}) + 1/2 * {u}", f"sigmoid(2 * {u}) * {u}", f"log(1 + exp({u}))")
            )
            self.lines.append(f"fn {name}({u}) = {body}")
            self.functions.append(name)
        if self.maybe(0.5):
            name, u = self.name("phi"), self.name("u")
            slopes = ("silu", "tanh", "sigmoid", "relu", "softplus_", "gelu", "square", "exp_")
            slope = self.smooth(slopes, "tanh")
            body = {"softplus_": f"{u} * exp(-{u}^2)", "square": f"{u}^2 - 1/3 * {u}", "exp_": f"exp({u}/3) - 1"}.get(
                slope, f"{slope}({u})"
            )
            self.lines.append(f"fn {name}'({u}) = {body}")
            self.potentials.append(name)
        if self.maybe(0.4):
            name, u, i = self.name("norm"), self.name("u"), self.index()
            dim_param = [p for p in self._of("param") if len(p.dims) == 0]
            gain = dim_param[0].name if dim_param else "0.8"
            self.lines.append(f"fn {name}[{i}]({u}) = {gain} * layernorm[{i}]({u}) + 0.1 * softmax[{i}]({u})")
            self.norms.append(name)

    def _left(self, dims: tuple[str, ...], *, typed: bool) -> tuple[Env, str]:
        env = {self.index(): d for d in dims}
        parts = [f"{i} in {d}" if typed else i for i, d in env.items()]
        return env, f"[{', '.join(parts)}]" if parts else ""

    def _let(self) -> None:
        dims = self._shape((0, 1, 2, 2, 3))
        env, left = self._left(dims, typed=True)
        name = self.name("let")
        self.lines.append(f"let {name}{left} = {self.expr(env, self.depth)}")
        self.reals.append(Real(name, dims, "let"))

    def _start(self, state: Real) -> None:
        env, left = self._left(state.dims, typed=False)
        with self.only("param", "clamp"):
            self.lines.append(f"start {state.name}{left} = {self.expr(env, 2)}")

    def _summed(self, env: Env, body: str) -> str:
        return f"sum[{', '.join(f'{i} in {d}' for i, d in env.items())}]({body})" if env else f"({body})"

    def _energies(self) -> None:
        for state in self._of("state"):
            env, left = self._left(state.dims, typed=False)
            self.lines.append(f"energy {self.name('conf')} = 1/2 * {self._summed(env, f'{state.name}{left}^2')}")
        for _ in range(self.random.choice((1, 2, 3))):
            state = self.random.choice(self._of("state"))
            env = {self.index(): d for d in state.dims}
            element = state.name + (f"[{', '.join(env)}]" if env else "")
            body = f"tanh({element}) * ({self.expr(env, self.depth)})"
            if self.maybe(0.2):
                extra, binders = self.bound(1, len(env))
                if binders:
                    ((k, d),) = extra.items()
                    body = self._summed(env, f"{element} * ({self.expr({**env, **extra}, self.depth)})")
                    self.lines.append(f"energy {self.name('family')}[{k} in {d}] = {body}")
                    continue
            self.lines.append(
                f"energy {self.name('e')} = {self.random.choice(('', '-', '-1/2 * '))}{self._summed(env, body)}"
            )

    def _force(self) -> None:
        state = self.random.choice(self._of("state"))
        env, left = self._left(state.dims, typed=False)
        if self.tick is not None:
            self.wholes.append(self.tick)
        body = f"{self.expr(env, self.depth)} - 0.1 * {state.name}{left}"
        if self.tick is not None:
            self.wholes.remove(self.tick)
            body += f" + 0.1 * {self.tick.name} * {self.expr(env, 1)}"
        self.lines.append(f"force {self.name('push')} on {state.name}{left} = {body}")

    def _readouts(self) -> None:
        for _ in range(self.random.choice((1, 2))):
            dims = self._shape((0, 1, 2))
            env, left = self._left(dims, typed=True)
            self.lines.append(f"readout {self.name('out')}{left} = {self.expr(env, 2)}")

    def _cost(self) -> None:
        state = self.random.choice(self._of("state"))
        env = {self.index(): d for d in state.dims}
        element = state.name + (f"[{', '.join(env)}]" if env else "")
        goal = Real(self.name("goal"), state.dims, "target")
        self.lines.append(f"target {goal.name}{_dims(goal.dims)}")
        aim = goal.name + (f"[{', '.join(env)}]" if env else "")
        body = f"1/2 * ({element} - {aim})^2 + 0.1 * ({self.expr(env, 2)})"
        if state.dims and self.maybe(0.6):
            body += self._label(state, env, element)
        mean = f"mean[{', '.join(f'{i} in {d}' for i, d in env.items())}]({body})" if env else body
        self.lines.append(f"cost {self.name('cost')} = {mean}")

    def _label(self, state: Real, env: Env, element: str) -> str:
        """A score against an integer target."""
        label = self.name("label")
        k = list(env)[-1]
        dim = env[k]
        self.lines.append(f"target {label} : {dim}")
        fresh = self.index()
        logits = element.replace(k, fresh)
        if self.maybe(0.5):
            return f" + 0.2 * cross_entropy[{fresh}]({logits}, {label})"
        return f" + where({k} == {label}, {element}, 0.3)"

    def _settle(self) -> None:
        """Use what nothing uses yet, so that the spec is whole."""
        text = "\n".join(self.lines)
        states = self._of("state")
        for real in [r for r in self.reals if r.kind in ("param", "clamp", "let")]:
            if sum(line.split("=", 1)[-1].count(real.name) for line in text.split("\n")) > 3:
                continue
            env = {self.index(): d for d in real.dims}
            element = real.name + (f"[{', '.join(env)}]" if env else "")
            state = self.random.choice(states)
            near = {self.index(): d for d in state.dims}
            other = state.name + (f"[{', '.join(near)}]" if near else "")
            self.lines.append(
                f"energy {self.name('use')} = 0.1 * {self._summed(env, element)} * {self._summed(near, other)}"
            )


def _dims(dims: tuple[str, ...]) -> str:
    return f"[{', '.join(dims)}]" if dims else ""


def _simple(text: str) -> bool:
    return " " not in text or (text.endswith(")") and text.split("(")[0].isidentifier())


def _affine(names: list[str], strides: list[int], offset: int) -> str:
    text = ""
    for name, stride in zip(names, strides, strict=True):
        factor = "" if abs(stride) == 1 else f"{abs(stride)} * "
        sign = "-" if stride < 0 else "+" if text else ""
        text += f" {sign} {factor}{name}" if text else f"{sign}{factor}{name}"
    if offset:
        text += f" {'-' if offset < 0 else '+'} {abs(offset)}"
    return text


def random_spec(seed: int, *, holomorphic: bool = False, timed: bool = False, real: bool = False) -> str:
    """The spec of a seed; a ``real`` one selects by real values too."""
    return SpecMaker(Random(seed), holomorphic=holomorphic, timed=timed, real=real).text()
