"""Specs of known class, drawn at random and written as a user would: each family gives the text and the truth.

A gradient is written from a potential by hand-made slopes, in a form that differs from the compiler's; what is none is
one of these with a part changed so that no potential is left. Kinks, jumps, poles and holes are at any place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

Rng = np.random.Generator
#: The text and whether it is a gradient; None for an energy that jumps, which is rightly undecided.
Draw = tuple[str, bool | None]

PLANE = "network plane\nparam w = 1/2\nstate x, y\nenergy q = w*(x^2 + y^2)^2\n{terms}\nreadout out = y\ncost c = y^2\n"
TOKENS = """network tokens
dim {dims}
param w = 1/2{params}
{functions}state z[N,D]
energy q = w*sum[n,d](z[n,d]^2)
force f on z[n,d] = {force}
readout out[n,d] = z[n,d]
cost c = sum[n,d](z[n,d]^2)
"""
KEPT = """network kept
dim N = 2, D = {size}
param w = 1/2, a[D], A[D,D] ~ normal
state z[N,D] in {kind}
energy q = w*sum[n,d](z[n,d]^2) + 0*sum[d,e in D](A[d,e] + a[d])
force f on z[n,d] = {force}
readout out[n,d] = z[n,d]
cost c = sum[n,d](z[n,d]^2)
"""
#: Functions of ``{u}`` with their slopes, written otherwise than the compiler would.
SCALARS: tuple[tuple[str, str], ...] = (
    ("relu({u})", "relu'({u})"),
    ("relu({u})^2", "2*relu({u})"),
    ("(relu({u}) - 0.1*relu(-({u})))", "(relu'({u}) + 0.1*relu'(-({u})))"),
    ("(relu({u}) - 0.2*relu(-({u})))", "(0.2 + 0.8*relu'({u}))"),
    ("(relu({u}) - relu({u} - 1))", "(relu'({u}) - relu'({u} - 1))"),
    ("abs({u})", "abs'({u})"),
    ("({u})*abs({u})", "2*abs({u})"),
    ("({u})/(1 + abs({u}))", "1/(1 + abs({u}))^2"),
    ("sqrt(1 + ({u})^2)", "({u})/sqrt(1 + ({u})^2)"),
    ("1/(1 + ({u})^2)", "(-2*({u})/(1 + ({u})^2)^2)"),
    ("log(1 + ({u})^2)", "2*({u})/(1 + ({u})^2)"),
    ("1/({u})", "(-1/({u})^2)"),
    ("1/({u})^2", "(-2/({u})^3)"),
    ("log(abs({u}))", "1/({u})"),
    ("exp({u})", "exp({u})"),
    ("tanh({u})", "(1 - tanh({u})^2)"),
    ("sigmoid({u})", "sigmoid({u})*(1 - sigmoid({u}))"),
    ("silu({u})", "(sigmoid({u}) + ({u})*sigmoid({u})*(1 - sigmoid({u})))"),
    ("softplus({u})", "sigmoid({u})"),
    ("sin({u})", "cos({u})"),
    ("({u})^3", "3*({u})^2"),
    ("gelu({u})", "gelu'({u})"),
)
RHO: tuple[str, ...] = (
    "relu(u) - relu(u - 1)",
    "u/(1 + abs(u))",
    "relu(u) - 0.1*relu(-u)",
    "tanh(u)",
    "sigmoid(u)",
    "u*sigmoid(u)",
    "sqrt(1 + u^2)",
    "relu(u)",
    "relu(u - 2)",
    "u^3",
)


def coin(rng: Rng) -> bool:
    return bool(rng.integers(2))


def number(rng: Rng, nonzero: bool = False) -> str:
    """A decimal of one digit, of order one or ten."""
    value = int(rng.integers(1, 40)) * (1 if coin(rng) else -1) / (10 if coin(rng) else 1)
    return f"({value})" if nonzero or coin(rng) else "0"


def affine(rng: Rng, name: str) -> tuple[str, str]:
    """``a name + b`` and its slope a."""
    factor = str(rng.choice(["1", "2", "0.5", "(-1)", "(-3)"]))
    return f"{factor}*{name} + {number(rng)}", factor


def forces(f: str, g: str) -> str:
    return PLANE.format(terms=f"force f on x = {f}\nforce g on y = {g}")


# ---------------------------------------------------------------- the plane


def separate_products(rng: Rng) -> Draw:
    """``E = -p(x) q(y)``; with q' of another place, another factor, or p' left out it is none."""
    (p, dp), (q, dq) = (SCALARS[int(rng.integers(len(SCALARS)))] for _ in range(2))
    (u, a), (v, b) = affine(rng, "x"), affine(rng, "y")
    if coin(rng):
        p, dp, u, a = "({u})", "1", "x", "1"
    f = f"{a}*{dp.format(u=u)}*{q.format(u=v)}"
    slope = dq.format(u=v)
    broken = str(rng.choice(["", "", "factor", "tiny", "missing", "sign"]))
    factor = {"": "1", "factor": "1.5", "tiny": "(1 + 1e-7)", "missing": "0", "sign": "(-1)"}[broken]
    return forces(f, f"{factor}*{b}*{p.format(u=u)}*{slope}"), not broken


def vortices(rng: Rng) -> Draw:
    """The angle round a point, in four ways; or the logarithm of the distance from it, of which the work is none."""
    a, b = number(rng), number(rng)
    u, v = f"(x - {a})", f"(y - {b})"
    radial = coin(rng)
    first, second = (u, v) if radial else (f"(-{v})", u)
    match int(rng.integers(4)):
        case 0:
            return forces(f"{first}/({u}^2 + {v}^2)", f"{second}/({u}^2 + {v}^2)"), radial
        case 1:
            one, other = (f"({u}/{v})", "1") if radial else ("(-1)", f"({u}/{v})")
            return forces(f"{one}/{v}/(1 + ({u}/{v})^2)", f"{other}/{v}/(1 + ({u}/{v})^2)"), radial
        case 2:
            one, other = ("1", f"({v}/{u})") if radial else (f"(-{v}/{u})", "1")
            return forces(f"{one}/{u}/(1 + ({v}/{u})^2)", f"{other}/{u}/(1 + ({v}/{u})^2)"), radial
        case _:
            root = f"sqrt({u}^2 + {v}^2)"
            return forces(f"{first}/{root}/{root}", f"{second}*({root})^(-2)"), radial


def central(rng: Rng) -> Draw:
    """``h(r^2) (u, v)`` is a gradient for every h, and no other multiple of one of the two parts is one."""
    u, v = f"(x - {number(rng)})", f"(y - {number(rng)})"
    square = f"({u}^2 + {v}^2)"
    h = str(
        rng.choice([f"{square}^(-3/2)", f"{square}^(-2)", f"exp(-{square})", f"1/(1 + {square})", f"sqrt({square})"])
    )
    broken = coin(rng)
    return forces(f"{h}*{u}", f"{'2*' if broken else ''}{h}*{v}"), not broken


def jumps(rng: Rng) -> Draw:
    """A force that jumps along itself is a gradient, one that jumps across itself is none."""
    u, _ = affine(rng, "x")
    v, _ = affine(rng, "y")
    step = str(rng.choice(["abs'({u})", "relu'({u})", "({u})/abs({u})", "relu({u})/({u})", "({u})/sqrt(({u})^2)"]))
    if coin(rng):
        return PLANE.format(terms=f"force f on x = {step.format(u=u)}"), True
    return PLANE.format(terms=f"force f on x = {step.format(u=v)}"), False


def jumping_energies(rng: Rng) -> Draw:
    """An energy times a sign jumps unless the energy vanishes there."""
    u, _ = affine(rng, "y")
    sign = str(rng.choice(["abs({u})/({u})", "abs'({u})", "({u})/sqrt(({u})^2)", "tanh(1/({u}))", "sigmoid(3/({u}))"]))
    if coin(rng):
        return PLANE.format(terms=f"energy e = x*{sign.format(u=u)}"), None
    return PLANE.format(terms=f"energy e = x*({u})*{sign.format(u=u)}"), True


def far_kinks(rng: Rng) -> Draw:
    """A force that begins beyond a kink, far away; on itself or on the other state."""
    q, _ = SCALARS[int(rng.integers(3))]
    name = str(rng.choice(["x", "y"]))
    return PLANE.format(terms=f"force f on x = {q.format(u=f'{name} - {number(rng, True)}')}"), name == "x"


# ---------------------------------------------------------------- tensors


def tokens(force: str, dims: str, param: str = "", functions: str = "") -> str:
    return TOKENS.format(dims=dims, params=f", {param} ~ normal" if param else "", functions=functions, force=force)


def dims_of_one(rng: Rng) -> Draw:
    """A force that mixes positions by a free matrix is a gradient where there is one position."""
    one = coin(rng)
    n = 1 if one else int(rng.integers(2, 4))
    f = str(
        rng.choice(
            ["sum[m](B[n,m]*z[m,d])", "tanh(z[n,d])*sum[m](B[n,m]*B[m,n]*B[n,n])", "sum[m](B[n,m]*tanh(z[m,d]))"]
        )
    )
    return tokens(f, f"N = {n}, D = 2", "B[N,N]"), one or "m]*B[m" in f


def factors_of_sizes(rng: Rng) -> Draw:
    """A matrix that is not symmetric, times a number that vanishes at some sizes."""
    n, k = int(rng.integers(2, 6)), int(rng.integers(2, 6))
    factor = str(rng.choice([f"(N - {k})", f"(N^2 - {k}*N)", f"(1/N - 1/{k})"]))
    return tokens(f"{factor}*sum[e](A[d,e]*z[n,e])", f"N = {n}, D = {int(rng.integers(2, 5))}", "A[D,D]"), n == k


def guards(rng: Rng) -> Draw:
    """Sums over a band that is one-sided, unless it is as wide as the tokens are many."""
    n, k = int(rng.integers(2, 6)), int(rng.integers(0, 6))
    if coin(rng):
        return tokens(f"sum[m | m <= n + {k}](z[m,d])", f"N = {n}, D = 2"), k >= n - 1
    return tokens(f"sum[m | abs(n - m) <= {k}](z[m,d])", f"N = {n}, D = 2"), True


def kernels(rng: Rng) -> Draw:
    """Weights of the distance of two positions, even or not."""
    n = int(rng.integers(2, 6))
    even = coin(rng)
    gap = str(rng.choice(["abs(n - m)", "(n - m)^2", "abs(2*n - 2*m)"])) if even else "(n - m)"
    weight = str(rng.choice([f"exp(-{gap})", f"exp({gap}/3)", f"1/(1/3 + {gap})", f"tanh({gap})"]))
    return tokens(f"sum[m]({weight}*z[m,d])", f"N = {n}, D = 2"), even


def particles(rng: Rng) -> Draw:
    """Pair forces along the line between two points; with the weight of one of them alone they are none."""
    d, broken = int(rng.integers(1, 4)), coin(rng)
    square = "sum[e]((z[n,e] - z[m,e])^2)"
    law = str(
        rng.choice([f"({square})^(-3/2)", f"1/({square})", f"exp(-{square})", f"1/(1 + {square})", f"({square})^(-2)"])
    )
    charge = "tanh(z[m,d])*" if broken else ""
    return tokens(f"sum[m | m != n]({charge}(z[n,d] - z[m,d])*{law})", f"N = 3, D = {d}"), not broken


def neurons(rng: Rng) -> Draw:
    """``rho'(z) W rho(z)`` of Scellier and Bengio (2017), with a symmetric W; or W free, or without rho'."""
    rho = str(rng.choice(list(RHO)))
    broken = str(rng.choice(["", "", "weights", "slope"]))
    weights = "A[d,e]" if broken == "weights" else "(A[d,e] + A[e,d])"
    slope = "" if broken == "slope" else "rho'(z[n,d])*"
    force = f"{slope}sum[e]({weights}*rho(z[n,e]))"
    return tokens(
        force, f"N = 2, D = {int(rng.integers(2, 4))}", "A[D,D]", functions=f"fn rho(u) = {rho}\n"
    ), not broken


#: Gradients in all space.
GRADIENTS: tuple[str, ...] = (
    "tanh(z[n,d])",
    "a[d]*sigmoid(a[d]*z[n,d])",
    "relu(z[n,d] - 1/4)",
    "sum[e]((A[d,e] + A[e,d])*z[n,e])",
    "sum[e](A[d,e]*tanh(sum[g in D](A[g,e]*z[n,g])))",
    "sum[m]((z[n,d] - z[m,d])*exp(-sum[e]((z[n,e] - z[m,e])^2)))",
    "softmax[d](2*z[n,d])",
    "z[n,d]^2*sum[m](z[m,d]^3)",
    "a[d]",
)
#: Numbers, the same along the set; those of another token too.
ALONG: tuple[str, ...] = (
    "sum[e](a[e]*z[n,e])",
    "sum[e](a[e]*z[n,e]^3)",
    "tanh(sum[e](a[e]*z[n,e]))",
    "sum[m,e](a[e]*z[m,e]^2)",
    "sum[m,e](tanh(z[m,e])*z[n,e])",
    "exp(sum[m,e](A[e,e]*z[m,e])/4)",
)
#: Forces that do work along the set, whatever it is.
CIRCLING: tuple[str, ...] = (
    "sum[e](A[d,e]*z[n,e])",
    "sum[e](A[d,e]*tanh(z[n,e]))",
    "a[d]*sum[e](z[n,e]^3)",
    "z[n,d]^2*sum[e](a[e]*z[n,e])",
    "sum[m](z[m,d]*n)",
)
NORMALS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "simplex[D]": ("{s}", "-2*({s})"),
        "sphere[D]": ("z[n,d]*{s}", "({s})*({t})*z[n,d]"),
        "standardized[D]": ("{s}", "z[n,d]*{s}", "(z[n,d] - 3)*({s})", "({s}) + z[n,d]*({t})"),
        "[-1, 1]": ("0*a[d]", "sum[e](relu(z[n,e] - 2))", "z[n,d]*sum[m](relu'(z[m,d] + tanh(z[n,d]) - 5/2))"),
    }
)


def sets(rng: Rng) -> Draw:
    """A gradient and what is normal to the set of the states; or something that circles on it."""
    kind = str(rng.choice(list(NORMALS)))
    normal = str(rng.choice(list(NORMALS[kind]))).format(s=rng.choice(ALONG), t=rng.choice(ALONG))
    parts = [str(rng.choice(GRADIENTS)), normal]
    broken = coin(rng)
    if broken:
        parts[int(rng.integers(2))] = str(rng.choice(CIRCLING))
    force = " + ".join(parts[k] for k in rng.permutation(len(parts)))
    return KEPT.format(size=int(rng.integers(4, 6)), kind=kind, force=force), not broken


FAMILIES: Mapping[str, Callable[[Rng], Draw]] = MappingProxyType(
    {
        family.__name__: family
        for family in (
            separate_products,
            vortices,
            central,
            jumps,
            jumping_energies,
            far_kinks,
            dims_of_one,
            factors_of_sizes,
            guards,
            kernels,
            particles,
            neurons,
            sets,
        )
    }
)
