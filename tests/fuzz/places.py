"""Specs with a function of the language in a place where it may stand, to be classified and proved.

A case is a function and a place: ``PAIRS`` has all of them, so that as many seeds in a row meet each one. The seed
draws what the function is of, beside integer clamps, targets, ``training``, and very large and very small factors.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from energyc.checker.judge import judge
from tests.fuzz.cases import Find, command
from tests.fuzz.drawing_specs import Maker
from tests.fuzz.expressions import DECLARED, Scope
from tests.fuzz.networks import Declared, dim_of

#: Functions of one number; what brings an argument to where some of them are defined.
SCALARS = "exp log sqrt sin cos relu abs sign sigmoid tanh logsigmoid softplus silu erf gelu gelu_tanh softsign".split()
INSIDE = {"log": "3/2 + tanh({})", "sqrt": "1 + ({})^2", "exp": "tanh({})"}
OF_SEVERAL = {
    "max": ("max({}, {})", "max({}, {}, 0.1)"),
    "min": ("min({}, {})", "min({}, {}, 1)"),
    "clip": ("clip({}, -1/2, 0.7)", "clip({}, gamma, 2)"),
    "leaky_relu": ("leaky_relu({})", "leaky_relu({}, 1/5)", "leaky_relu({}, 2)"),
    "where": ("where({} > 0.1, {}, {})", "where(training, {}, {})", "where(lab == 1 or at[0] < 2, {}, {})"),
    "frozen": ("frozen({})",),
    "detach": ("detach({})",),
    "own": ("rise({})", "bend({})", "rise'({})", "bend'({})"),
    "power": ("({})^2", "({})^3", "(1 + ({})^2)^(-3/2)", "(1 + ({})^2)^tau", "2^({})"),
}
REDUCTIONS = ("sum", "mean", "max", "min", "variance", "logsumexp")
NORMALISERS = ("softmax", "layernorm", "rmsnorm", "standardize")
SCORES = ("cross_entropy", "correct")
STATISTICS = ("mean", "median")
#: All functions; with brackets those along an index or the batch.
FUNCTIONS = (
    *SCALARS,
    *(f"{name}'" for name in SCALARS),
    *OF_SEVERAL,
    *(f"{name}[]" for name in (*REDUCTIONS, *NORMALISERS, *SCORES)),
    *(f"{name}[batch]" for name in STATISTICS),
)
#: The functions of consts, and so of the ends of boxes, and those of whole numbers in places.
OF_CONSTS, OF_WHOLE = ("exp", "log", "sqrt", "abs", "tanh", "sin", "cos"), ("abs",)
#: Those of one number that have an antiderivative, or none that is found, and read nothing but their argument.
OF_SLOPES = (*(name for name in FUNCTIONS if name.rstrip("'") in SCALARS), "max", "min", "clip", "leaky_relu", "power")
#: What is multiplied: some are so near the ends of the floats that their squares are beyond.
FACTORS = "1 1 1 -1 1/3 0.02 0 pi gamma 1e5 1e-7 10^50 1e150 -1e200 1e-150 1e-200 1e300 2^900".split()
MILD = 8
#: What drives a state back, also where an integer clamp or training decides how; and the lets of a chain.
LEAKS = (
    "1/2 * z[n,d]^2",
    "1/4 * z[n,d]^4",
    "where(at[n] == 1, 1/2 * (z[n,d] - x[n])^2, 1/4 * z[n,d]^2)",
    "where(training and n == to[0], z[n,d]^4, z[n,d]^2)",
)
CHAIN = 3


@dataclass(frozen=True)
class Place:
    """Statements around ``{made}``, in which a fresh index over each dim of ``over`` is free: ``{n}`` over N.

    ``reads`` are the words of the tensors that may be read, ``only`` the functions that may stand there.
    """

    line: str
    over: str = ""
    reads: str = "clamp param state"
    only: Collection[str] = FUNCTIONS


#: What surely reads a state.
_MOVED = "z[0,0] * x[0]"
_LET = f"energy reads = sum[n](q[n] * z[n,0]) + {_MOVED}"
_ENERGY = f"energy e = {{made}} + {_MOVED}"
PLACES = {
    "let": Place(f"let q[{{n}} in N] = {{made}}\n{_LET}", "N"),
    "fn": Place(
        f"fn shaped(u) = {{made}}\nenergy reads = sum[n,d](shaped(z[n,d])) + {_MOVED}", reads="argument clamp param"
    ),
    "fn of an index": Place(
        "fn along[d](u) = {made} * u\nlet q[n,d] = along[d](z[n,d])\nenergy reads = sum[n,d](q[n,d])",
        reads="clamp param",
    ),
    "fn by its slope": Place(
        "fn bowl'(u) = {made}\n" + _LET.replace("q[n]", "bowl(z[n,0])"), reads="argument", only=OF_SLOPES
    ),
    "start": Place("start z[{n}, {d}] = {made}", "N D", "clamp param"),
    "clamped": Place("clamped v[{k}] = {made}", "K", "clamp target"),
    "energy": Place(_ENERGY),
    "family": Place(f"energy e[{{h}} in H] = {{made}} + {_MOVED}", "H"),
    "force": Place("force pushed on z[{n},{d}] = {made}", "N D"),
    "flow": Place("flow z[{n},{d}] = {made} - grad(leak, z[{n},{d}])\nflow v[k] = -grad(leak, v[k])", "N D"),
    "next": Place("next z[{n},{d}] = {made}\nnext v[k] = v[k]/2", "N D"),
    "numbered next": Place("next z[{n},{d}] = where(t == 0, 0, {made})\nnext v[k] = v[k]/2", "N D"),
    "readout": Place("readout out[{n} in N] = {made}", "N"),
    "cost": Place("cost c = {made}", reads="clamp target param state"),
    "metric": Place("metric m = {made}", reads="clamp target param state"),
    "condition": Place("energy e = sum[n,d](where({made} > 0.1 * z[n,d], z[n,d]^2, z[n,d]))"),
    "beside an integer clamp": Place("energy e = sum[{n} in N](where(at[{n}] == 1, {made}, z[{n},0]^2))", "N"),
    "beside training": Place(f"energy e = where(training, {{made}}, {_MOVED})"),
    "under a guard": Place("energy e = sum[{n} in N | at[{n}] != 0 and {n} < 2]({made} + z[{n},0])", "N"),
    "gathered": Place("let q[{n} in N] = {made}\nenergy reads = sum[k](q[to[k]] * v[k]) + v[0]", "N"),
    "exponent": Place("energy e = sum[n,d](2^({made}) * z[n,d]) + v[0]", reads="clamp param"),
    "layer": Place(_ENERGY),
    "repeat": Place(_ENERGY),
    "index": Place("let q[n] = x[{made} - {made}]\n" + _LET, only=OF_WHOLE),
    "guard": Place("energy e = sum[n in N, m in N | {made} < 2](z[n,0] * z[m,0])", only=OF_WHOLE),
    "const": Place("const made = {made}\nenergy e = made * sum[n,d](z[n,d])", only=OF_CONSTS),
    "box": Place("state b[N] in [-1, 3 + {made}]\nenergy e = sum[n](b[n]^2 - b[n] * z[n,0])", only=OF_CONSTS),
}
PAIRS = tuple((function, place) for place, where in PLACES.items() for function in FUNCTIONS if function in where.only)
#: What a place puts into the place of another statement, or moves instead of the energies.
ANSWERS, NEXT, BLOCKS = ("readout", "cost"), ("next", "numbered next"), ("layer", "repeat")
TENSORS = {
    "clamp": (Declared("x", ("N",)), Declared("y", ("N", "D"))),
    "target": (Declared("aim", ("N",)),),
    "param": (Declared("w", ("N", "N")), Declared("g", ("D",))),
    "state": (Declared("z", ("N", "D")), Declared("v", ("K",))),
    "argument": (Declared("u", ()),) * 4,
}
WHOLES = (Declared("at", ("N",), "K"), Declared("to", ("K",), "N"), Declared("lab", (), "K"))


class Placing(Maker):
    """The spec of a seed; a ``tame`` one has no numbers near the ends of the floats."""

    def __init__(self, seed: int, tame: bool = False) -> None:
        super().__init__(seed)
        self.function, self.name = PAIRS[seed % len(PAIRS)]
        self.place, self.tame = PLACES[self.name], tame
        some, few = self.random.choice((1, 2, 3)), self.random.choice((1, 2))
        self.sizes = {"N": 3, "D": some, "K": 3, "H": 2, "M": few, "T": 2}
        self.line = self._placed()

    # ------------------------------------------------------------ the spec

    def text(self) -> str:
        """The spec."""
        placed = [] if self.name in (*ANSWERS, "metric") else [self.line]
        inner = [*self._states(), *self._energies(), *placed, self._relax()]
        if self.name in BLOCKS:
            inner = ["layer mem {", *inner, "}"]
        if self.name == "repeat":
            inner = ["repeat T {", "state h[N]", "start h[n] = x[n]", *inner, "next h[n] = h[n] + mem.z[n,0]", "}"]
        body = "\n".join([*self._inputs(), *inner, *self._answers()]) + "\n"
        declared = [text for call, text in DECLARED.items() if call in body or call.replace("(", "'(") in body]
        sizes = ", ".join(f"{dim} = {size}" for dim, size in self.sizes.items())
        return "\n".join([f"network places\ndim {sizes}\nconst gamma = 0.7, tau = 1/3", *declared, body])

    def _inputs(self) -> list[str]:
        wholes = ", ".join(whole.text() for whole in WHOLES)
        kept = self.random.choice(("", "", " in [-1, 1]", " in nonnegative", " in symmetric", " in norm[1/2]"))
        params = f"param w[N, N] ~ normal{kept}, g[D] = 1"
        return [f"clamp x[N], y[N, D], {wholes}", "target aim[N], label : K", params]

    def _states(self) -> list[str]:
        kept = self.random.choice(("", "", "", " in [-1, 1]", " in nonnegative", " in [0.001, 2]"))
        return [f"state z[N, D]{kept}", "state v[K]"]

    def _energies(self) -> list[str]:
        if self.name in NEXT:
            return []
        factor = self.factor() if not self.tame and self.maybe(0.1) else "1/2"
        lines = [f"energy leak = sum[n,d]({self.random.choice(LEAKS)}) + {factor} * sum[k](v[k]^2)"]
        if not self.tame and self.maybe(0.1) and self.name != "flow":
            lines += [*self._chain(), f"energy chained = sum[n]((q0[n] - q{CHAIN}[n])^2)"]
        self.reals = [each for word in ("clamp", "param", "state") for each in TENSORS[word]]
        other = self.name != "flow" and self.maybe(0.3)
        return [*lines, f"energy other = {self.expression((), 2).text()} + {_MOVED}"] if other else lines

    def _chain(self) -> list[str]:
        """Lets that each multiply the one before."""
        factor = self.factor()
        return ["let q0[n] = z[n,0]", *(f"let q{k + 1}[n] = {factor} * q{k}[n]" for k in range(CHAIN))]

    def _answers(self) -> list[str]:
        at = {"layer": "mem.z[n,0]", "repeat": "h[n]"}.get(self.name, "z[n,0]")
        lines = {"readout": f"readout out[n] = {at}", "cost": "cost c = 1/2 * sum[n]((out[n] - aim[n])^2)"}
        if self.name in (*ANSWERS, "metric"):
            lines[self.name] = self.line
        return [*lines.values()]

    def _relax(self) -> str:
        if self.name in NEXT:
            return "relax t in T { }" if self.name == "numbered next" else "relax { steps = 3 }"
        certified = not self.tame and self.maybe(0.1)
        return "relax { step = certified, tolerance = 1e-6 }" if certified else "relax { step = 0.1, steps = 3 }"

    # ------------------------------------------------------------ the function

    def factor(self) -> str:
        """A number."""
        return self.random.choice(FACTORS[:MILD] if self.tame else FACTORS)

    def _placed(self) -> str:
        """The statements of the place, with the function in them."""
        scope = self.indices(self.place.over.split())
        self.wholes = [] if self.place.reads in ("argument", "clamp target") else [*WHOLES]
        self.reals = [each for word in self.place.reads.split() for each in TENSORS[word]]
        if self.place.only is OF_WHOLE:
            made = self.random.choice(("abs(n - 1)", "abs(1 - n)", "abs(2*n - at[0])", "abs(n - to[0])"))
        elif self.place.only is OF_CONSTS:
            made = f"{self.factor()} * {self.function}({self.random.choice(('2', 'gamma', '1 + tau', 'N', '1e-3'))})"
        else:
            made = f"{self.factor()} * {self._called(scope)}"
        return self.place.line.format(made=made, **{dim_of(index).lower(): index for index, _ in scope})

    def _argument(self, scope: Scope) -> str:
        """What a function is of."""
        if self.place.only is OF_SLOPES:
            return self.random.choice(("u", "2*u", "u^2 - 1", "gamma - u/3"))
        made = self.expression(scope, self.random.choice((0, 1, 1, 2))).text()
        return made if self.maybe(0.8) else f"({self.factor()} * {made})"

    def _called(self, scope: Scope) -> str:
        """The function, of an argument."""
        name, _, along = self.function.partition("[")
        if along == "batch]":
            return f"{name}[batch]({self._argument(scope)})"
        if along:
            return self._along(name, scope)
        if name in OF_SEVERAL:
            form = self.random.choice(OF_SEVERAL[name])
            return form.format(*(self._argument(scope) for _ in range(3)))
        inner = self._argument(scope)
        return f"{name}({INSIDE.get(name.rstrip(chr(39)), '{}').format(inner) if self.maybe(0.8) else inner})"

    def _along(self, name: str, scope: Scope) -> str:
        """The function along a fresh index: of scores beside a label, of a normaliser summed with weights."""
        index, size = self.index("K" if name in SCORES else self.random.choice(("N", "D", "K")))
        inner = (*scope, (index, size))
        body = f"{self._argument(inner)} + {self._differing(index)}"
        bound = f"{index} in {dim_of(index)}"
        if name in SCORES:
            labels = ["lab", "at[0]", *(["label"] if "target" in self.place.reads else [])]
            return f"{name}[{bound}]({body}, {self.random.choice(labels)})"
        guarded = name not in ("variance", *NORMALISERS[1:]) and self.maybe(0.3)
        guard = f" | {self.condition(inner, 1).text()}" if guarded else ""
        if name in NORMALISERS:
            return f"sum[{bound}]({name}[{index}{guard}]({body}) * {self._differing(index)})"
        return f"{name}[{bound}{guard}]({body})"

    def _differing(self, index: str) -> str:
        """A number for each position of an index."""
        options = [tensor for tensor in self.reals if tensor.dims == (dim_of(index),)]
        return f"{self.random.choice(options).name}[{index}]" if options and self.maybe(0.7) else f"cos(1.3*{index})"


def refusal(seed: int) -> Find | None:
    """Check the spec of a seed, with its certificates, which the checker accepts."""
    with tempfile.TemporaryDirectory() as folder:
        spec, proofs, text = Path(folder) / "spec.energy", Path(folder) / "proofs.json", Placing(seed).text()
        spec.write_text(text)
        form = ("json", "text")[seed % 2]
        with np.errstate(over="raise", divide="raise", invalid="raise"):  # a warning would be shown to the user
            found = command("check", str(spec), "--format", form, "--certificates", str(proofs))
        answers = judge(json.loads(proofs.read_text()), text) if proofs.exists() else []
        refused = [answer for answer in answers if answer.verdict != "yes"]
        return found or (Find("a certificate is refused", str(refused)) if refused else None)
