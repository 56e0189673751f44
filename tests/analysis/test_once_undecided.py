"""What was undecided and can be decided by a general rule: its kin are proved, and near misses are not."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from energyc.checker.forms import is_semidefinite
from energyc.language.diagnostics import Source
from energyc.language.network import Network, Structure
from energyc.mathematics.ir import Graph, Operand
from energyc.pipeline import Choices, resolve
from energyc.proofs.claims.claims import claims_of
from energyc.proofs.claims.classes import Claim
from energyc.proofs.claims.norms import Norms
from energyc.proofs.conservativeness.classify import classify
from energyc.proofs.conservativeness.verdict import Verdict
from energyc.proofs.enclosures.nodes import Enclosures
from energyc.proofs.fields.sampling import in_floats
from energyc.proofs.fields.structured import on_sets
from tests.analysis.placed import kernel_of
from tests.drawing import SEED, draws


def network(lines: str, dims: str) -> Network:
    """A network of the dims that are used."""
    used = [part for part in dims.split(", ") if part.split(" = ")[0] in lines]
    return resolve(Source("spec.energy", f"network n\ndim {', '.join(used)}\n{lines}\n"), Choices())


# -------------------------------------------------------------------- forces over edges

EDGES = "N = 6, E = 8, D = 3"
READ = {
    "src": "clamp src[E] : N",
    "dst": "clamp dst[E] : N",
    "perm": "clamp perm[E] : E",
    "b[": "param b[N] ~ normal(1)",
}
IN = "sum[e | dst[e] == n]"
OUT = "sum[e | src[e] == n]"


def over_edges(force: str) -> Verdict:
    vector = "d" if "[n,d]" in force else ""
    state = "state z[N, D]\nforce f on z[n,d]" if vector else "state z[N]\nforce f on z[n]"
    inputs = [line for name, line in READ.items() if name in force]
    lines = ["param w[E] ~ normal(0.5)", *inputs, f"{state} = {force}"]
    return classify(network("\n".join(lines), EDGES)).terms["f"]


@pytest.mark.abridged
@pytest.mark.parametrize(
    "force",
    [
        f"{IN}(w[e]*tanh(z[src[e]] - z[n])) - {OUT}(w[e]*tanh(z[n] - z[dst[e]]))",
        f"{IN}(w[e]*tanh(z[src[e]] - z[n])) + {OUT}(w[e]*tanh(z[dst[e]] - z[n]))",
        f"{IN}(w[e]*tanh(z[src[e]] - z[dst[e]])) - {OUT}(w[e]*tanh(z[n] - z[dst[e]]))",
        f"{IN}(w[e]*exp(z[src[e]] - z[n])) - {OUT}(w[e]*exp(z[n] - z[dst[e]]))",
        f"{IN}(w[e]*sin(2*tanh(z[src[e]] - z[n] + 1))) - {OUT}(w[e]*sin(2*tanh(z[n] - z[dst[e]] + 1)))",
        f"{IN}(w[e]*relu(z[src[e]] - z[n])) - {OUT}(w[e]*relu(z[n] - z[dst[e]]))",
        f"{IN}(w[e]*tanh(z[src[e]])*(1 - tanh(z[n])^2)) + {OUT}(w[e]*tanh(z[dst[e]])*(1 - tanh(z[src[e]])^2))",
        f"{IN}(w[e]*tanh(z[src[e]] + b[src[e]] - z[n] - b[n])) - {OUT}(w[e]*tanh(z[n] + b[n] - z[dst[e]] - b[dst[e]]))",
        f"sum[e | dst[perm[e]] == n](w[e]*tanh(z[src[e]] - z[n])) - {OUT}(w[e]*tanh(z[n] - z[dst[perm[e]]]))",
        f"{IN}(w[e]*(z[src[e],d] - z[n,d])*exp(-sum[k in D]((z[src[e],k] - z[n,k])^2))) - "
        f"{OUT}(w[e]*(z[n,d] - z[dst[e],d])*exp(-sum[k in D]((z[n,k] - z[dst[e],k])^2)))",
        f"{IN}(w[e]*softmax[d](z[src[e],d] - z[n,d])) - {OUT}(w[e]*softmax[d](z[n,d] - z[dst[e],d]))",
    ],
)
def test_what_an_edge_adds_to_one_end_it_takes_from_the_other(force: str) -> None:
    assert over_edges(force).kind == "conservative"


@pytest.mark.parametrize(
    "force",
    [
        f"{IN}(w[e]*tanh(z[src[e]] - z[n])) + {OUT}(w[e]*tanh(z[n] - z[dst[e]]))",
        f"{IN}(w[e]*tanh(z[src[e]] - z[n]))",
        f"{IN}(w[e]*tanh(z[src[e]] - z[n])) - {IN}(w[e]*tanh(z[n] - z[src[e]]))",
        f"{IN}(w[e]*tanh(z[src[e]] - z[n])) - {OUT}(w[perm[e]]*tanh(z[n] - z[dst[e]]))",
        f"{IN}(w[e]*tanh(z[src[e]] - z[n])) - {OUT}(w[e]*tanh(z[n] - z[dst[perm[e]]]))",
        f"{IN}(w[e]*sin(z[src[e]] - z[n] + 1)) - {OUT}(w[e]*sin(z[n] - z[dst[e]] - 1))",
        f"{IN}(w[e]*tanh(z[src[e]])*(1 - tanh(z[n])^2)) + {OUT}(w[e]*tanh(z[dst[e]]))",
        f"{IN}(w[e]*softmax[d](z[src[e],d] - z[n,d])) + {OUT}(w[e]*softmax[d](z[n,d] - z[dst[e],d]))",
    ],
)
def test_near_misses_over_edges(force: str) -> None:
    assert over_edges(force).kind == "not-conservative"


# -------------------------------------------------------------------- orthogonal params that are square at some sizes

COLUMNS = "force f on y[m] = -sum[n, k in M](W[n,m]*W[n,k]*y[k]^2)"


@pytest.mark.abridged(every=2)
@pytest.mark.parametrize(
    ("dims", "kind", "pinned"),
    [
        ("N = 4, M = 4", "conservative", (("N", 4), ("M", 4))),
        ("N = 40, M = 40", "conservative", (("N", 40), ("M", 40))),
        ("N = 3, M = 4", "not-conservative", ()),
        ("N = 4, M = 9", "not-conservative", ()),
    ],
)
def test_orthonormal_columns_at_some_sizes(dims: str, kind: str, pinned: object) -> None:
    found = classify(network(f"param W[N, M] in orthogonal\nstate y[M]\n{COLUMNS}", dims)).terms["f"]
    assert (found.kind, found.pinned) == (kind, pinned)


def test_a_witness_keeps_what_is_square() -> None:
    """A condition on m keeps M = 4, where N = 3 would be a witness against what holds at N = 4."""
    guarded = COLUMNS.replace("k in M](", "k in M | k < 2](")
    assert classify(network(f"param W[N, M] in orthogonal\nstate y[M]\n{guarded}", "N = 4, M = 4")).terms["f"].kind == (
        "conservative"
    )


# -------------------------------------------------------------------- matrices

FLOW = "energy e = sum[d](log(1 + exp(x[d] - b[d])))\nflow x[d] = -sum[k in D](P[d,k] * grad(e, x[k]))"
MATRIX = "D = 4, K = 2, M = 4"
W = "param W[D, D] ~ normal(0.5)"
S = "param W[D, D] ~ normal(0.5) in symmetric"
SQUARE = "let V[d, k in D] = sum[j in D](W[d,j]*W[j,k])\nlet P[d, k in D] = "
UNIT = "param p[D] in sphere[D]"
Q = "param Q[K, D] in orthogonal"


def positive(params: str, matrix: str, state: str = "state x[D]") -> Claim | None:
    """The claim that a matrix is positive semidefinite; None where it is not even symmetric."""
    let = matrix if matrix.startswith("let") else f"let P[d, k in D] = {matrix}"
    lines = "\n".join(["clamp b[D]", params, state, let, FLOW])
    made = network(lines, MATRIX)
    found = [c for c in claims_of(made, classify(made), kernel_of(made)) if c.about.startswith("P in")]
    return next((c for c in found if c.claim == "positive semidefinite"), None)


def identity(scale: str = "1") -> str:
    return f"where(d == k, {scale}, 0)"


@pytest.mark.abridged(every=7)
@pytest.mark.parametrize(
    ("params", "matrix"),
    [
        (S, "sum[j in D](W[d,j]*W[j,k])"),
        (S, f"{SQUARE}sum[j in D](V[d,j]*V[j,k])"),
        (f"{S}\nparam A[D, K] ~ normal(1)", "sum[i, j in D, l in K](W[d,i]*A[i,l]*A[j,l]*W[j,k])"),
        (UNIT, f"{identity()} - p[d]*p[k]"),
        (f"{UNIT}\nparam s = 1/2 in [0, 1]", f"{identity()} - s*p[d]*p[k]"),
        (f"{UNIT}\nparam s[D] = 1 in [1, 2]", f"{identity('s[d]')} - p[d]*p[k]"),
        (f"{UNIT}\n{W}", f"{identity()} - p[d]*p[k] + sum[j in D](W[d,j]*W[k,j])"),
        (f"{UNIT}\nparam q[D] in sphere[D]", f"{identity('2')} - p[d]*q[k] - q[d]*p[k]"),
        ("let p[d] = softmax[d](x[d])", f"{identity()} - p[d]*p[k]"),
        ("param F[K, D] in sphere[K, D]", f"{identity()} - sum[i in K](F[i,d]*F[i,k])"),
        (Q, f"{identity()} - sum[i in K](Q[i,d]*Q[i,k])"),
        ("param R[D, D] in orthogonal", f"{identity()} - sum[i in D](R[i,d]*R[i,k])"),
        ("param R[D, D] in orthogonal", f"{identity('2')} - R[d,k] - R[k,d]"),
    ],
)
def test_positive_semidefinite(params: str, matrix: str) -> None:
    found = positive(params, matrix)
    assert found is not None and (found.verdict, found.condition) == ("proved", None), found


@pytest.mark.abridged(every=7)
@pytest.mark.parametrize(
    ("params", "matrix"),
    [
        (W, "sum[j in D](W[d,j]*W[j,k])"),
        (S, f"{SQUARE}sum[j in D](V[d,j]*W[j,k])"),
        (S, "W[d,k]^2"),
        (f"{S}\nparam A[D, D] ~ normal(1) in symmetric", "sum[i, j in D](W[d,i]*A[i,j]*W[j,k])"),
        ("param p[D] = 0 in [-2, 2]", f"{identity()} - p[d]*p[k]"),
        (UNIT, f"{identity()} - 2*p[d]*p[k]"),
        (f"{UNIT}\nparam s = 1/2 in [0, 2]", f"{identity()} - s*p[d]*p[k]"),
        (f"{UNIT}\nparam s[D] = 1 in [0, 2]", f"{identity('s[d]')} - p[d]*p[k]"),
        ("let p[d] = softmax[d](x[d])", f"{identity()} - 2*p[d]*p[k]"),
        ("param F[K, D] in sphere[D]", f"{identity()} - sum[i in K](F[i,d]*F[i,k])"),
        ("param A[K, D] ~ normal(1)\nlet F[i,d] = softmax[d](A[i,d])", f"{identity()} - sum[i in K](F[i,d]*F[i,k])"),
        (Q, f"sum[i in K](Q[i,d]*Q[i,k]) - {identity()}"),
        (Q, f"{identity()} - 2*sum[i in K](Q[i,d]*Q[i,k])"),
        ("param R[D, D] in orthogonal", f"{identity()} - R[d,k] - R[k,d]"),
    ],
)
def test_near_misses_of_positive_matrices(params: str, matrix: str) -> None:
    found = positive(params, matrix)
    assert found is None or found.verdict != "proved"


@pytest.mark.slow
@pytest.mark.parametrize(("state", "twice"), [("simplex[D]", "undecided"), ("sphere[D]\nstart x[d] = 1", "refuted")])
def test_a_matrix_of_a_state_is_judged_on_its_set(state: str, twice: str) -> None:
    """Off its set x x^T outweighs the identity."""
    once = positive("", f"{identity()} - x[d]*x[k]", f"state x[D] in {state}")
    assert once is not None and once.verdict == "proved"
    more = positive("", f"{identity()} - 2*x[d]*x[k]", f"state x[D] in {state}")
    assert more is not None and more.verdict == twice


# -------------------------------------------------------------------- floors

FORMS = "D = 4, K = 2, M = 4, N = 3"
R = "param R[D, D] in orthogonal\nstate y[D]"
Y = "sum[d](y[d]^2)"
X = "sum[i](x[i]^2)"
YRY = "sum[d,k](y[d]*R[d,k]*y[k])"
XQY = "sum[i,d](x[i]*Q[i,d]*y[d])"
TWO = "param Q[K, D] in orthogonal\nstate y[D], x[K]"
BIAS = "clamp b[D]\n"


def floor(params: str, energy: str) -> Claim:
    made = network(f"{params}\nenergy e = {energy}", FORMS)
    (found,) = [c for c in claims_of(made, classify(made), kernel_of(made)) if c.claim == "bounded below"]
    return found


@pytest.mark.parametrize(
    ("params", "energy"),
    [
        (R, f"1/2*({Y} - {YRY})"),
        (R, f"1/2*{Y}\nenergy f = -1/2*{YRY}"),
        (R, f"{Y} - sum[d,k,j](y[d]*R[d,k]*R[k,j]*y[j])"),
        (R, f"{Y} - sum[d,k](y[d]*R[d,k]*y[k]*tanh(y[k]))"),
        (BIAS + R, f"1/2*({Y} - 9/10*{YRY}) - sum[d](b[d]*y[d])"),
        (TWO, f"1/2*({Y} + {X}) - {XQY}"),
        (TWO, f"2*{Y} + 1/2*{X} - 2*{XQY}"),
        (BIAS + TWO, f"{Y} + {X} - {XQY} - sum[d](b[d]*y[d])"),
        ("param R[D, D] in orthogonal\nstate y[N, D]", "sum[n,d](y[n,d]^2) - sum[n,d,k](y[n,d]*R[d,k]*y[n,k])"),
        ("param p[D] in sphere[D]\nstate y[D]", f"{Y} - (sum[d](p[d]*y[d]))^2"),
        ("state y[D]\nstate p[D] in sphere[D]\nstart p[d] = 1", f"{Y} - (sum[d](p[d]*y[d]))^2"),
        ("state y[D]\nstate p[D] in simplex[D]", f"{Y} - (sum[d](p[d]*y[d]))^2"),
        ("param s[D] = 0 in [0, 1]\nstate y[D]", f"{Y} - sum[d](s[d]*y[d]^2)"),
    ],
)
def test_floors_of_quadratic_forms(params: str, energy: str) -> None:
    assert floor(params, energy).verdict == "proved"


@pytest.mark.parametrize(
    ("params", "energy"),
    [
        (R, f"1/2*({Y} - 2*{YRY})"),
        (R, f"1/2*({Y} - 1001/1000*{YRY})"),
        (BIAS + R, f"1/2*({Y} - {YRY}) - sum[d](b[d]*y[d])"),
        ("param R[D, D] ~ normal(1)\nstate y[D]", f"1/2*({Y} - {YRY})"),
        (TWO, f"1/2*({Y} + {X}) - 3/2*{XQY}"),
        (TWO, f"2*{Y} + 1/2*{X} - 201/100*{XQY}"),
        ("param R[D, D] in orthogonal\nstate y[N, D]", "sum[n,d](y[n,d]^2) - sum[n,m in N,d,k](y[n,d]*R[d,k]*y[m,k])"),
        ("param p[D] in sphere[D]\nstate y[D]", f"{Y} - 2*(sum[d](p[d]*y[d]))^2"),
        ("param p[D] = 0 in [-2, 2]\nstate y[D]", f"{Y} - (sum[d](p[d]*y[d]))^2"),
        ("param s[D] = 0 in [0, 2]\nstate y[D]", f"{Y} - sum[d](s[d]*y[d]^2)"),
        ("param V[N, D] in orthogonal\nstate y[D]", f"sum[n]((sum[d](V[n,d]*y[d]))^2) - {Y}"),
        (BIAS + "param V[N, D] in orthogonal\nstate y[D]", "sum[n]((sum[d](V[n,d]*y[d]))^2) - sum[d](b[d]*y[d])"),
        ("state y[D]", f"{Y} - sum[d,k in D](y[d]*y[k])"),
    ],
)
def test_near_misses_of_floors(params: str, energy: str) -> None:
    assert floor(params, energy).verdict != "proved"


def test_norms_bound_what_is_drawn() -> None:
    """Random products of vectors, orthogonal matrices, unit vectors and bounded numbers, as matrices."""
    print(f"ENERGYC_SEED={SEED}")
    generator, graph, size = np.random.default_rng(SEED), Graph(), 2
    vectors = {
        rank: (graph.input(f"x{rank}", "state", "D" * rank), graph.input(f"y{rank}", "state", "D" * rank))
        for rank in (1, 2)
    }
    structures = {
        graph.input("Q", "param", "DD"): (Structure("orthogonal", (0,), (1,)),),
        graph.input("B", "param", "DDD"): (Structure("orthogonal", (1,), (2,)),),
        graph.input("p", "param", "D"): (Structure("sphere", (), (0,)),),
        graph.input("P", "param", "DD"): (Structure("sphere", (), (1,)),),
        graph.input("F", "param", "DD"): (Structure("sphere", (), (0, 1)),),
    }
    bounded = {graph.input("g", "param", "D"): (-0.5, 0.5), graph.input("G", "param", "DD"): (-0.5, 0.5)}
    norms = Norms(Enclosures(graph, {}, bounded), {}, structures)
    known = 0
    for _ in range(draws(4000)):
        kinds = [*structures, *bounded]
        others = [kinds[k] for k in generator.integers(0, len(kinds), generator.integers(1, 4))]
        ends = [vectors[int(generator.integers(1, 3))][k] for k in range(2)]
        x, y, *rest = (Operand(n, tuple(generator.integers(0, 4, len(n.dims)).tolist())) for n in (*ends, *others))
        found = norms.between(x, y, rest).norm
        if found < np.inf:
            known += 1
            values = {}
            for node in {*others}:
                shape = [size] * len(node.dims)
                value = on_sets(generator.uniform(-0.5, 0.5, shape), structures.get(node, ()), generator)
                values[node] = in_floats(value)
            assert spectral_norm(x, y, rest, values, size) <= float(found) * (1 + 1e-9), (x, y, rest)
    assert known > draws(4000) / 200


def spectral_norm(x: Operand, y: Operand, rest: list[Operand], values: dict, size: int) -> float:
    """The largest ``|sum|`` for vectors of norm 1."""
    matrix = np.zeros((size ** len(x.axes), size ** len(y.axes)))
    factors = [part for o in rest for part in (values[o.node], list(o.axes))]
    for row, column in np.ndindex(matrix.shape):
        one, other = np.zeros([size] * len(x.axes)), np.zeros([size] * len(y.axes))
        one.flat[row], other.flat[column] = 1, 1
        matrix[row, column] = np.einsum(one, list(x.axes), other, list(y.axes), *factors, [])
    return float(np.linalg.norm(matrix, 2))


def test_semidefinite_matrices() -> None:
    """All symmetric matrices of three rows with entries -1, 0, 1, by their eigenvalues."""
    for a, b, c, d, e, f in product((-1, 0, 1), repeat=6):
        matrix = [[a, d, e], [d, b, f], [e, f, c]]
        least = float(np.linalg.eigvalsh(np.array(matrix, dtype=float))[0])
        assert is_semidefinite([[Fraction(entry) for entry in row] for row in matrix]) == (least > -1e-9), matrix
