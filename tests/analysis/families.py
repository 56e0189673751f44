"""Force fields of known class, drawn at random: each family gives a field and whether it is a gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from energyc.mathematics.calculus import derivative, substitute
from energyc.mathematics.ir import TRUTHS, Coefficient, IndexExpr, Indicator, Input, Node
from energyc.proofs.fields.problem import ForceField
from tests.analysis.build import A0, A1, A2, A3, Build, integer, op, plus, random_sizes, times

Draw = tuple[ForceField, bool]
Family = Callable[[np.random.Generator], Draw]
Rng = np.random.Generator

SMOOTH = ("tanh", "sigmoid", "silu", "gelu", "gelu_tanh", "softplus", "sin", "exp")
KINKED = ("relu", "abs")


def coin(rng: Rng) -> bool:
    return bool(rng.integers(0, 2))


def pick(rng: Rng, *choices: Any) -> Any:
    return choices[int(rng.integers(0, len(choices)))]


def fraction(rng: Rng) -> Fraction:
    return Fraction(int(rng.integers(1, 7)), int(rng.integers(1, 5))) * pick(rng, 1, -1)


def token_guard(b: Build, rng: Rng) -> Indicator | None:
    condition = pick(
        rng, None, op("<=", A1, A0), op("<", A1, A0), op("!=", A0, A1), op("<=", op("abs", op("-", A0, A1)), integer(1))
    )
    return b.mask("ts", condition) if condition else None


# ---------------------------------------------------------------- attention


def attention(rng: Rng) -> Draw:
    """Both halves of attention written by hand: a gradient with both; with one, or another value matrix, none."""
    b = Build({"t": "T", "s": "T", "d": "D", "e": "D", "h": "H", "a": "A"}, random_sizes(rng, "TDHA", 2, 4))
    z, wq, wk = b.state("z", "td"), b.param("W_q", "had"), b.param("W_k", "had")
    n = b.layernorm(z, "td") if rng.integers(0, 6) == 0 else z
    q, k = b.es("td,had->hta", n, wq), b.es("td,had->hta", n, wk)
    gamma = Coefficient.symbol("A", Fraction(-1, 2)) if coin(rng) else Coefficient(fraction(rng))
    score = b.es("hta,hsa->hts", q, k, c=gamma)
    mask = token_guard(b, rng)
    p = b.softmax(score, (2,), mask, (1, 2))
    broken = pick(rng, None, "half", "value", "twice", "guard")
    query = b.es("hts,hsa,had->td", p, k, wq)
    key = b.es("hts,hta,had->sd", p, q, b.param("W_v", "had") if broken == "value" else wk)
    if broken == "guard":
        key = b.es("hts,hta,had,ts->sd", p, q, wk, b.mask("ts", op("<=", A0, A1)))
        if mask is not None and mask.condition.op in ("<=", "<"):
            broken = "half" if mask.condition.op == "<" else "guard"
    force = {"half": query, "twice": b.add(query, b.scale(2, key))}.get(broken or "", b.add(query, key))
    if n is not z:  # through the norm only by its derivative
        energy = b.total(b.logsumexp(score, (2,), mask, (1, 2)))
        return (b.field({z: force}), False) if coin(rng) else (b.field(b.forces_of(energy, z)), True)
    return b.field({z: force}), broken is None


def clamped_keys(rng: Rng) -> Draw:
    """The query half alone with keys from outside; values other than keys break it."""
    b = Build({"t": "T", "s": "S", "d": "D", "h": "H", "a": "A"}, random_sizes(rng, "TSDHA"))
    z, wq, k = b.state("z", "td"), b.param("W_q", "had"), b.clamp("k", "hsa")
    q = b.es("td,had->hta", z, wq)
    mask = b.mask("ts", op("<=", A1, A0)) if coin(rng) else None
    p = b.softmax(b.es("hta,hsa->hts", q, k, c=fraction(rng)), (2,), mask, (1, 2))
    broken = coin(rng)
    v = b.clamp("v", "hsa") if broken else k
    return b.field({z: b.es("hts,hsa,had->td", p, v, wq)}), not broken


def modern_hopfield(rng: Rng) -> Draw:
    """Retrieval from a clamped memory, with a leak; a gain after the softmax breaks it."""
    b = Build({"n": "N", "m": "M", "d": "D"}, random_sizes(rng, "NMD"))
    z, memory = b.state("z", "nd"), b.clamp("xi", "md")
    p = b.softmax(b.es("nd,md->nm", z, memory, c=fraction(rng)), (1,))
    broken = coin(rng)
    pulled = b.es("nm,md,d->nd", p, memory, b.param("g", "d")) if broken else b.es("nm,md->nd", p, memory)
    return b.field({z: b.minus(pulled, z)}), not broken


# ---------------------------------------------------------------- feed-forward


def _feed_forward(b: Build, rng: Rng, x: Node, tied: bool, f: str, sign: int = 1) -> Node:
    w1, bias, gate = b.param("W1", "df"), b.param("b", "f"), b.param("c", "f")
    u = b.es("td,df->tf", x, w1)
    if coin(rng):
        u = b.add(u, b.graph.spread(bias, b.dims("tf"), (1,)))
    out = w1 if tied else b.param("W2", "df")
    if coin(rng):
        return b.es("tf,df,f->td", b.map(f, u), out, gate, c=fraction(rng))
    return b.es("tf,df->td", b.map(f, u), out, c=fraction(rng))


def tied_network(rng: Rng) -> Draw:
    """``W f(W^T z + b)``, with or without a weight for each hidden unit; untied it is not a gradient."""
    b = Build({"t": "T", "d": "D", "f": "F"}, random_sizes(rng, "TDF"))
    z, tied = b.state("z", "td"), coin(rng)
    return b.field({z: _feed_forward(b, rng, z, tied, pick(rng, *SMOOTH, *KINKED))}), tied


def normalised_network(rng: Rng) -> Draw:
    """A normaliser inside: never a gradient, tied or not."""
    b = Build({"t": "T", "d": "D", "f": "F"}, random_sizes(rng, "TDF", 3))
    z = b.state("z", "td")
    n = b.layernorm(z, "td", centred=coin(rng))
    return b.field({z: _feed_forward(b, rng, n, coin(rng), pick(rng, "tanh", "silu", "gelu_tanh", "relu"))}), False


def normalised_energy(rng: Rng) -> Draw:
    """The slope of an energy of a normalised state: a gradient; with the norm's derivative scaled by a gain, none."""
    b = Build({"t": "T", "d": "D", "f": "F"}, random_sizes(rng, "TDF", 3, 4))
    z, w = b.state("z", "td"), b.param("W", "df")
    u = b.es("td,df->tf", b.layernorm(z, "td", centred=coin(rng)), w)
    energy = b.total(b.map(pick(rng, "softplus", "sin", "exp"), u))
    force = b.forces_of(energy, z)[z]
    broken = coin(rng)
    return b.field({z: b.es("td,d->td", force, b.param("g", "d")) if broken else force}), not broken


def layer_norm(rng: Rng) -> Draw:
    """The norm itself is a gradient; with gains it is none, with the same gains inside and outside it is one again."""
    b = Build({"t": "T", "d": "D"}, random_sizes(rng, "TD", 3))
    z, g, shift = b.state("z", "td"), b.param("g", "d"), b.param("h", "d")
    kind, centred = pick(rng, "plain", "gain", "both", "shift"), coin(rng)
    inside = b.es("td,d->td", z, g) if kind == "both" else z
    n = b.layernorm(inside, "td", centred)
    if kind in ("gain", "both"):
        n = b.es("td,d->td", n, g)
    if kind == "shift":
        n = b.add(n, b.graph.spread(shift, b.dims("td"), (1,)))
    return b.field({z: n}), kind != "gain"


def deep_energy(rng: Rng) -> Draw:
    """A two-layer energy's slope, and the same with its first matrix exchanged on the way back."""
    b = Build({"t": "T", "d": "D", "f": "F", "g": "G"}, random_sizes(rng, "TDFG", 2, 4))
    z, w1, w2 = b.state("z", "td"), b.param("W1", "df"), b.param("W2", "fg")
    f, h = pick(rng, "tanh", "sigmoid", "sin", "relu"), pick(rng, "softplus", "exp", "silu")
    u = b.es("td,df->tf", z, w1)
    energy = b.total(b.map(h, b.es("tf,fg->tg", b.map(f, u), w2)))
    if coin(rng):
        return b.field(b.forces_of(energy, z)), True
    inner = b.state("u", "tf")
    outer = b.total(b.map(h, b.es("tf,fg->tg", b.map(f, inner), w2)))
    back = substitute(b.graph, b.forces_of(outer, inner)[inner], {inner: u})
    return b.field({z: b.es("tf,df->td", back, b.param("V", "df"))}), False


# ---------------------------------------------------------------- linear maps, products


def linear_map(rng: Rng) -> Draw:
    """Matrices that are symmetric by their form, and some that are not."""
    b = Build({"t": "T", "d": "D", "e": "D", "m": "M"}, random_sizes(rng, "TDM"))
    z, a, c = b.state("z", "td"), b.param("A", "de"), b.param("B", "dm")
    c2, s = b.param("C", "dm"), b.param("s", "m")
    forms = [
        (b.es("te,de->td", z, a), False),
        (b.add(b.es("te,de->td", z, a), b.es("te,ed->td", z, a)), True),
        (b.minus(b.es("te,de->td", z, a), b.es("te,ed->td", z, a)), False),
        (b.es("te,em,dm->td", z, c, c), True),
        (b.es("te,em,dm,m->td", z, c, c, s), True),
        (b.es("te,em,dm->td", z, c, c2), False),
        (b.add(b.es("te,em,dm->td", z, c, c2), b.es("te,em,dm->td", z, c2, c)), True),
        (b.es("td,d->td", z, b.param("g", "d"), c=fraction(rng)), True),
    ]
    node, conservative = pick(rng, *forms)
    return b.field({z: node}), conservative


def products(rng: Rng) -> Draw:
    """Three states in one product; one coefficient that differs breaks it."""
    b = Build({"i": "I", "j": "J", "k": "K"}, random_sizes(rng, "IJK"))
    x, y, z, w = b.state("x", "i"), b.state("y", "j"), b.state("z", "k"), b.param("W", "ijk")
    c, broken = fraction(rng), coin(rng)
    powers = coin(rng)
    left = b.es("i,i->i", x, x) if powers else x
    force_x = b.es("ijk,i,j,k->i", w, x, y, z, c=2 * c) if powers else b.es("ijk,j,k->i", w, y, z, c=c)
    force = {
        x: force_x,
        y: b.es("ijk,i,k->j", w, left, z, c=c + Fraction(1, 100) if broken else c),
        z: b.es("ijk,i,j->k", w, left, y, c=c),
    }
    return b.field(force), not broken


def polynomial(rng: Rng) -> Draw:
    """Sums of pairwise products and cubes with coefficients drawn; a rotation of two states breaks it."""
    b = Build({"i": "I", "j": "I"}, random_sizes(rng, "I"))
    x, y, w = b.state("x", "i"), b.state("y", "i"), b.param("W", "ij")
    c = fraction(rng)
    energy = b.graph.plus(
        b.es("ij,i,i,j->", w, x, x, y), b.es("i,i,i,i->", x, y, y, x, c=c), b.es("i,i,j->", x, x, x, c=Fraction(1, 3))
    )
    force, broken = b.forces_of(energy, x, y), coin(rng)
    if broken:
        tiny = Fraction(1, 1000)
        force = {x: b.add(force[x], b.scale(tiny, y)), y: b.add(force[y], b.scale(-tiny, x))}
    return b.field(force), not broken


# ---------------------------------------------------------------- positions


def neighbours(rng: Rng) -> Draw:
    """Sums over neighbours under a guard: gradients where the guard is symmetric."""
    b = Build({"t": "T", "s": "T", "d": "D"}, random_sizes(rng, "TD", 3, 6))
    z = b.state("z", "td")
    guards = [
        (op("<=", op("abs", op("-", A0, A1)), integer(int(rng.integers(0, 3)))), True),
        (op("!=", A0, A1), True),
        (op("<=", A1, A0), False),
        (op("<", A0, A1), False),
        (op("==", op("abs", op("-", A0, A1)), integer(1)), True),
        (op("and", op("<=", A1, plus(A0, 1)), op("<=", A0, plus(A1, 1))), True),
        (op("and", op("<=", A1, plus(A0, 1)), op("<=", A0, plus(A1, 2))), False),
        (op("or", op("==", A1, plus(A0, 1)), op("==", A0, plus(A1, 1))), True),
        (op("==", A1, plus(A0, 1)), False),
        (op("not", op("<=", A1, A0)), False),
        (op("==", op("+", A0, A1), integer(3)), True),
        (op("<=", op("+", A0, times(2, A1)), integer(4)), False),
    ]
    condition, symmetric = pick(rng, *guards)
    mask = b.mask("ts", condition)
    f = pick(rng, None, "tanh")
    if f is None:
        return b.field({z: b.es("ts,sd->td", mask, z)}), symmetric
    u = b.es("ts,sd->td", mask, z)  # M f(M z) with a symmetric M is a gradient
    return b.field({z: b.es("ts,sd->td", mask, b.map(f, u))}), symmetric


def oscillators(rng: Rng) -> Draw:
    """Kuramoto: sin of differences over a symmetric neighbourhood; a phase lag or one that is one-sided breaks it."""
    b = Build({"t": "T", "s": "T"}, random_sizes(rng, "T", 3, 5))
    z = b.state("z", "t")
    difference = b.minus(b.graph.spread(z, b.dims("ts"), (1,)), b.graph.spread(z, b.dims("ts"), (0,)))
    lag, onesided = coin(rng), coin(rng)
    if lag:
        difference = b.add(difference, b.graph.constant(Fraction(1, 3), b.dims("ts")))
    mask = b.mask("ts", op("<", A1, A0) if onesided else op("<=", op("abs", op("-", A0, A1)), integer(1)))
    return b.field({z: b.es("ts,ts->t", mask, b.map("sin", difference))}), not (lag or onesided)


def relation(rng: Rng) -> Draw:
    """Sums over the edges of a graph that came from outside, one way or both ways."""
    b = Build({"n": "N", "m": "N", "d": "D"}, random_sizes(rng, "ND", 3, 5))
    z, adj = b.state("z", "nd"), b.clamp("adj", "nm", TRUTHS)
    there, back = (b.mask("nm", op_related(adj, *axes)) for axes in ((A0, A1), (A1, A0)))
    both = coin(rng)
    force = b.es("nm,md->nd", there, z)
    return b.field({z: b.add(force, b.es("nm,md->nd", back, z)) if both else force}), both


def op_related(adj: Input, *axes: IndexExpr) -> IndexExpr:
    return IndexExpr("related", (adj, *axes))


def windows(rng: Rng) -> Draw:
    """A strided window between two states and its transpose; another offset, stride or matrix breaks it."""
    stride, offset, patch, count = (
        int(rng.integers(1, 3)),
        int(rng.integers(0, 2)),
        int(rng.integers(2, 4)),
        int(rng.integers(2, 4)),
    )
    side = stride * (count - 1) + patch - 2 * offset
    if side < 2:
        side, offset = side + 2 * offset, 0
    b = Build({"i": "G", "u": "S", "p": "P", "d": "D", "c": "C"}, {"G": count, "S": side, "P": patch, "D": 2, "C": 2})
    z, y, w = b.state("z", "id"), b.state("y", "uc"), b.param("W", "dcp")
    place = plus(op("+", times(stride, A1), A2), -offset)
    look = b.mask("uip", op("==", A0, place))
    broken = pick(rng, None, "offset", "matrix", "stride")
    other = {"offset": plus(place, 1), "stride": op("+", place, A1)}.get(broken or "", place)
    f = pick(rng, None, "tanh", "relu")
    if f is None:
        to_z = b.es("uip,uc,dcp->id", look, y, w)
        matrix = b.param("V", "dcp") if broken == "matrix" else w
        to_y = b.es("uip,id,dcp->uc", b.mask("uip", op("==", A0, other)), z, matrix)
        return b.field({z: to_z, y: to_y}), broken is None
    seen = b.es("uip,uc,dcp->id", look, y, w)  # E = -sum z f(conv y)
    matrix = b.param("V", "dcp") if broken == "matrix" else w
    slope = b.graph.map(f, seen)
    local = b.es("id,id->id", derivative(b.graph, slope.function, seen), z)
    to_y = b.es("uip,id,dcp->uc", b.mask("uip", op("==", A0, other)), local, matrix)
    return b.field({z: slope, y: to_y}), broken is None


def convolution(rng: Rng) -> Draw:
    """A state convolved with itself: a gradient for a kernel of the distance, none for a free one."""
    reach = int(rng.integers(1, 3))
    b = Build(
        {"t": "T", "s": "T", "p": "P", "q": "Q", "d": "D"},
        {"T": int(rng.integers(3, 7)), "P": 2 * reach + 1, "Q": reach + 1, "D": 2},
    )
    z = b.state("z", "td")
    if coin(rng):
        kernel = b.param("k", "q")
        look = b.mask("tsq", op("==", op("abs", op("-", A0, A1)), A2))
        return b.field({z: b.es("tsq,q,sd->td", look, kernel, z)}), True
    look = b.mask("tsp", op("==", A1, plus(op("+", A0, A2), -reach)))
    return b.field({z: b.es("tsp,p,sd->td", look, b.param("k", "p"), z)}), False


def gathers(rng: Rng) -> Draw:
    """A state gathered by an integer clamp and its scatter; another function on the way back breaks it."""
    b = Build({"t": "T", "v": "V", "d": "D"}, random_sizes(rng, "TVD", 3, 5))
    z, s, idx = b.state("z", "td"), b.state("s", "vd"), b.clamp("idx", "t", "V")
    pick_v = b.mask("vt", op("==", A0, IndexExpr("read", (idx, A1))))
    met = b.es("td,vd,vt->t", z, s, pick_v)
    f = pick(rng, "tanh", "sigmoid", "silu")
    broken = coin(rng)
    other = "sin" if broken else f
    force = {
        z: b.es("t,vd,vt->td", b.map(f, met), s, pick_v),
        s: b.es("t,td,vt->vd", b.map(other, met), z, pick_v),
    }
    return b.field(force), not broken


def fixed_positions(rng: Rng) -> Draw:
    """One position pulls all others (a CLS token): a gradient only where the others pull back."""
    b = Build({"t": "T", "s": "T", "d": "D"}, random_sizes(rng, "TD", 3, 6))
    z, k = b.state("z", "td"), int(rng.integers(0, 2))
    first = b.mask("s", op("==", A0, integer(k)))
    away = b.es("s,sd,t->td", first, z, b.mask("t", op("!=", A0, integer(k))))
    back = b.es("t,sd,s->td", b.mask("t", op("==", A0, integer(k))), z, b.mask("s", op("!=", A0, integer(k))))
    both = coin(rng)
    return b.field({z: b.add(away, back) if both else away}), both


def distances(rng: Rng) -> Draw:
    """Weights that are a function of the distance of two positions, symmetric or with its sign."""
    b = Build({"t": "T", "s": "T", "d": "D"}, random_sizes(rng, "TD", 3, 5))
    z = b.state("z", "td")
    symmetric = coin(rng)
    gap = op("-", A0, A1)
    weight = b.graph.position(b.dims("ts"), op("abs", gap) if symmetric else gap)
    force = b.es("ts,sd->td", b.map("exp", b.scale(-1, weight)), z)
    return b.field({z: force}), symmetric


# ---------------------------------------------------------------- kinks, jumps, holes


def kinks(rng: Rng) -> Draw:
    """Powers of relu, absolute values, the largest entry; by themselves and mixed with the wrong partner."""
    b = Build({"t": "T", "d": "D", "f": "F"}, random_sizes(rng, "TDF", 2, 4))
    z, w, v = b.state("z", "td"), b.param("W", "df"), b.param("V", "df")
    u = b.es("td,df->tf", z, w)
    kind = pick(rng, "relu2", "relu3", "max", "max_shared", "abs", "mixed")
    r = b.map("relu", u)
    if kind == "relu2":
        return b.field({z: b.es("tf,df->td", r, w)}), True
    if kind == "relu3":
        return b.field(b.forces_of(b.es("tf,tf,tf->", r, r, r), z)), True
    if kind == "max":  # z . max(u) of two states
        y = b.state("y", "t")
        return b.field(b.forces_of(b.es("t,t->", y, b.graph.max(u, (1,))), z, y)), True
    if kind == "max_shared":
        return b.field({z: b.graph.spread(b.graph.max(z, (1,)), b.dims("td"), (0,))}), False
    if kind == "abs":
        return b.field({z: b.es("tf,df->td", b.map("abs", u), w)}), True
    return b.field({z: b.es("tf,df->td", b.graph.product(r, b.es("td,df->tf", z, v)), w)}), False


def jumps(rng: Rng) -> Draw:
    """Forces with jumps: a Jacobian of zeros off them, and yet no gradient unless each jumps only with itself."""
    b = Build({"i": "I", "j": "I"}, random_sizes(rng, "I"))
    z, w = b.state("z", "i"), b.param("W", "ij")
    jump = b.map(pick(rng, "sign", "step"), z)
    if coin(rng):
        return b.field({z: b.es("ij,j->i", w, jump)}), False
    return b.field({z: jump}), True


def holes(rng: Rng) -> Draw:
    """Central forces of every power are gradients; the vortex has a symmetric Jacobian and is none."""
    b = Build({"i": "I"}, random_sizes(rng, "I"))
    x, y = b.state("x", ""), b.state("y", "")
    square = b.add(b.es(",->", x, x), b.es(",->", y, y))
    exponent = pick(rng, Fraction(-1), Fraction(-1, 2), Fraction(-3, 2), Fraction(-2))
    power = b.graph.power(square, exponent)
    vortex = coin(rng)
    if vortex:
        return b.field({x: b.es(",->", y, power, c=-1), y: b.es(",->", x, power)}), False
    return b.field({x: b.es(",->", x, power), y: b.es(",->", y, power)}), True


def logarithms(rng: Rng) -> Draw:
    """Fractional powers, logarithms and roots of what is positive."""
    b = Build({"i": "I", "j": "J"}, random_sizes(rng, "IJ"))
    z, w = b.state("z", "i"), b.param("W", "ij")
    u = b.es("i,ij->j", z, w)
    safe = b.add(b.es("j,j->j", u, u), b.graph.constant(1, b.dims("j")))
    f = pick(rng, "log", "sqrt", "power")
    energy = b.total(b.graph.power(safe, Fraction(-1, 2)) if f == "power" else b.map(f, safe))
    force, broken = b.forces_of(energy, z)[z], coin(rng)
    return b.field({z: b.es("i,i->i", force, b.param("g", "i")) if broken else force}), not broken


# ---------------------------------------------------------------- energies of several kinds


def frozen(rng: Rng) -> Draw:
    """An energy that freezes part of itself: alone in each element a gradient, mixed by a matrix none."""
    b = Build({"i": "I", "j": "I"}, random_sizes(rng, "I"))
    z, w = b.state("z", "i"), b.param("W", "ij")
    mode, mixed = pick(rng, "frozen", "detach"), coin(rng)
    inner = b.es("ij,j->i", w, z) if mixed else z
    energy = b.es("i,i->", z, b.graph.stop(b.map("tanh", inner), mode))
    return b.field(b.forces_of(energy, z)), not mixed


def crossed(rng: Rng) -> Draw:
    """Each state follows an energy: the same one, or one each."""
    b = Build({"i": "I", "j": "J", "k": "K"}, random_sizes(rng, "IJK", 2, 4))
    x, y = b.state("x", "i"), b.state("y", "j")
    w, v = b.param("W", "ijk"), b.param("V", "ijk")

    def energy(matrix: Node, f: str) -> Node:
        met = b.es("ijk,i,j->k", matrix, x, y)
        return b.graph.logsumexp(met, (0,)) if f == "logsumexp" else b.total(b.map(f, met))

    f, g = pick(rng, "tanh", "exp", "logsumexp", "relu"), pick(rng, "sin", "silu", "logsumexp")
    first = b.forces_of(energy(w, f), x, y)
    if coin(rng):
        return b.field(first), True
    return b.field({x: first[x], y: b.forces_of(energy(v, g), x, y)[y]}), False


def perturbed(rng: Rng) -> Draw:
    """A sum of true gradients with or without a small rotation."""
    b = Build({"t": "T", "s": "T", "d": "D", "e": "D", "f": "F"}, random_sizes(rng, "TDF", 2, 4))
    z, w, a = b.state("z", "td"), b.param("W", "df"), b.param("A", "de")
    u = b.es("td,df->tf", z, w)
    energy = b.graph.plus(
        b.total(b.map(pick(rng, "softplus", "exp", "sin"), u)), b.es("td,td->", z, z, c=fraction(rng))
    )
    force, broken = b.forces_of(energy, z)[z], coin(rng)
    if broken:
        skew = b.minus(b.es("te,de->td", z, a, c=Fraction(1, 10000)), b.es("te,ed->td", z, a, c=Fraction(1, 10000)))
        force = b.add(force, skew)
    return b.field({z: force}), not broken


def cyclic(rng: Rng) -> Draw:
    """Neighbours on a ring, by the remainder of a position: both ways a gradient, one way none."""
    n = int(rng.integers(3, 6))
    b = Build({"t": "T", "s": "T"}, {"T": n})
    z, size = b.state("z", "t"), IndexExpr("size", ("T",))
    ahead = b.mask("ts", op("==", A1, op("mod", plus(A0, 1), size)))
    behind = b.mask("ts", op("==", A0, op("mod", plus(A1, 1), size)))
    both = coin(rng)
    force = b.es("ts,s->t", ahead, z)
    return b.field({z: b.add(force, b.es("ts,s->t", behind, z)) if both else force}), both


def tensor_attention(rng: Rng) -> Draw:
    """Tokens on a grid, softmax over two axes at once, keys from the state itself: the slope of its energy."""
    b = Build({"i": "G", "j": "G", "k": "G", "l": "G", "d": "D", "e": "D", "a": "A"}, random_sizes(rng, "GDA", 2, 3))
    z, wq = b.state("z", "ijd"), b.param("W_q", "ad")
    wk = wq if coin(rng) else b.param("W_k", "ad")
    q, k = b.es("ijd,ad->ija", z, wq), b.es("ijd,ad->ija", z, wk)
    mask = b.mask("ijkl", op("or", op("!=", A0, A2), op("!=", A1, A3))) if coin(rng) else None
    score = b.es("ija,kla->ijkl", q, k, c=fraction(rng))
    energy = b.total(b.logsumexp(score, (2, 3), mask, (0, 1, 2, 3)))
    force, broken = b.forces_of(energy, z)[z], coin(rng)
    if broken:
        p = b.softmax(score, (2, 3), mask, (0, 1, 2, 3))
        force = b.add(force, b.es("ijkl,kla,ad->ijd", p, k, wq))
    return b.field({z: force}), not broken


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        f.__name__: f
        for f in (
            attention,
            clamped_keys,
            modern_hopfield,
            tied_network,
            normalised_network,
            normalised_energy,
            layer_norm,
            deep_energy,
            linear_map,
            products,
            polynomial,
            neighbours,
            oscillators,
            relation,
            windows,
            convolution,
            gathers,
            fixed_positions,
            distances,
            kinks,
            jumps,
            holes,
            logarithms,
            frozen,
            crossed,
            perturbed,
            cyclic,
            tensor_attention,
        )
    }
)
