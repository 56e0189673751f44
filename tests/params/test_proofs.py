"""The prover on params on sets: proofs that need a set, no witness off one, suggestions of sets."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from energyc.language.diagnostics import Source
from energyc.language.network import Network
from energyc.mathematics.ir.interpreter import evaluate
from energyc.pipeline import Choices, resolve
from energyc.proofs.claims.products import multiplied_out
from energyc.proofs.conservativeness.classify import Classification, classify
from energyc.proofs.verdicts.in_notation import classes_of
from tests.checker.proofs import answer
from tests.drawing import seeds

HEAD = "network n\ndim N = 5, D = 4, K = 3\nclamp x[N]\n"
#: Params, a force on z[N] (and y[N]), and what else the spec declares; each is conservative on the sets alone.
CONSERVATIVE = {
    "linear": ("W[N, N] ~ normal in symmetric", "sum[m](W[n,m] * z[m])"),
    "in a box": ("W[N, N] ~ uniform(0, 1) in symmetric and [0, 1]", "sum[m](W[n,m] * z[m])"),
    "through functions": (
        "W[N, N] ~ normal in symmetric",
        "(1 - tanh(z[n])^2) * sum[m](W[n,m] * tanh(z[m]))",
    ),
    "a matrix for each head": ("W[K, N, N] ~ normal in symmetric", "sum[k,m](W[k,n,m] * tanh(z[n] * z[m]) * z[m])"),
    "a product of symmetric ones": (
        "W[N, N] ~ normal in symmetric, V[N, N] ~ normal in symmetric and zero_diagonal",
        "sum[m,l](W[n,m] * V[m,l] * sum[a](W[l,a] * z[a]))",
    ),
    "no entry on the diagonal": (
        "W[N, N] ~ normal in zero_diagonal",
        "sum[m](where(n == m, W[n,m] * z[m]^2 * y[n], 0)) + W[n,n] * y[n]",
    ),
    "off the diagonal anyway": (
        "W[N, N] ~ normal in symmetric and zero_diagonal",
        "sum[m | m != n](W[n,m] * z[m]) + 2 * sum[m](W[m,n] * z[m])",
    ),
    "orthogonal": ("Q[N, N] in orthogonal", "sum[m,l](Q[n,m] * Q[l,m] * tanh(z[l]))"),
    "orthogonal, by its columns": ("Q[N, N] in orthogonal", "tanh(sum[m,l](Q[m,n] * Q[m,l] * z[l]))"),
    "orthogonal matrices": ("Q[K, N, N] in orthogonal", "sum[k](tanh(sum[m,l](Q[k,m,n] * Q[k,m,l] * z[l])))"),
    "orthonormal rows": (
        "Q[D, N] in orthogonal, A[D, N] ~ normal, B[D, D] ~ normal in symmetric",
        "sum[d,m,c,e,l](A[d,n] * Q[d,m] * Q[c,m] * B[c,e] * A[e,l] * z[l])",
    ),
    "unit norm": (
        "P[K, N] in sphere[N], A[K, N] ~ normal, B[K, K] ~ normal in symmetric",
        "sum[k,j,m](A[k,n] * B[k,j] * sum[a](P[j,a]^2) * A[j,m] * z[m])",
    ),
}
#: The same of sets that do not suffice.
NOT_CONSERVATIVE = {
    "a diagonal alone": ("W[N, N] ~ normal in zero_diagonal", "sum[m](W[n,m] * z[m])"),
    "orthogonal is not symmetric": ("Q[N, N] in orthogonal", "sum[m](Q[n,m] * z[m])"),
    "unit norm is not symmetric": ("P[N, N] in sphere[N]", "sum[m](P[n,m] * z[m])"),
    "a product of two": (
        "W[N, N] ~ normal in symmetric, V[N, N] ~ normal in symmetric",
        "sum[m,l](W[n,m] * V[m,l] * z[l])",
    ),
    "columns that are not orthonormal": (
        "Q[K, N] in orthogonal, P[N, N] ~ normal",
        "sum[k,m,l](Q[k,n] * Q[k,m] * P[m,l] * z[l])",
    ),
    "between the heads": ("W[N, K, K] ~ normal in symmetric", "sum[k,j](W[n,k,j] * z[n]) * sum[m](z[m])"),
}


def resolved(params: str, force: str) -> Network:
    text = f"{HEAD}param {params}\nstate z[N], y[N]\n"
    text += f"energy hold = 1/2 * sum[n](y[n]^2 + z[n]^2 * x[n])\nforce f on z[n] = {force}"
    return resolve(Source("spec.energy", text), Choices())


def verdict(params: str, force: str) -> tuple[Network, Classification]:
    network = resolved(params, force)
    return network, classify(network)


def without_sets(params: str) -> str:
    """The same params, free; directions get a law."""
    bare = re.sub(r" in (symmetric|zero_diagonal)( and [^,]*(, 1])?)?", "", params)
    return re.sub(r" in (orthogonal|sphere\[N\])", " ~ normal", bare)


@pytest.mark.abridged
@pytest.mark.parametrize(("params", "force"), CONSERVATIVE.values(), ids=CONSERVATIVE)
def test_a_set_proves_what_does_not_hold_without_it(params: str, force: str) -> None:
    _, found = verdict(params, force)
    assert found.terms["f"].kind == "conservative", found.terms["f"]
    _, free = verdict(without_sets(params), force)
    assert free.terms["f"].kind != "conservative", free.terms["f"]


@pytest.mark.parametrize(("params", "force"), NOT_CONSERVATIVE.values(), ids=NOT_CONSERVATIVE)
def test_a_witness_is_on_the_sets(params: str, force: str) -> None:
    network, found = verdict(params, force)
    assert found.terms["f"].kind == "not-conservative", found.terms["f"]
    witness: Any = classes_of(network).terms[1].witness
    point = {name: np.array(value) for name, value in witness["point"].items()}
    sizes = witness["sizes"]
    for name, param in network.params.items():
        value = point[name]
        assert value.shape == tuple(sizes[dim] for dim in param.node.dims)
        for part in param.structure:
            match part.kind:
                case "symmetric":
                    assert np.array_equal(value, np.transpose(value, part.exchange(value.ndim)))
                case "zero_diagonal":
                    assert not np.diagonal(value, axis1=part.rows[0], axis2=part.columns[0]).any()
                case "orthogonal":
                    np.testing.assert_allclose(value @ value.T, np.eye(len(value)), atol=1e-14)
                case "sphere":
                    np.testing.assert_allclose((value**2).sum(part.columns), 1, atol=1e-14)


def test_the_kernel_knows_the_sets_of_params() -> None:
    """The certificate of a symmetric param holds on its set and is refused of the param without it."""
    force = "sum[m](W[n,m] * tanh(z[m])) * (1 - tanh(z[n])^2)"
    network, found = verdict("W[N, N] ~ normal in symmetric", force)
    certificate = found.terms["f"].certificate
    assert certificate is not None
    text = network.source.text
    assert answer({"claim": "", **certificate}, text).verdict == "yes"
    assert answer({"claim": "", **certificate}, text.replace(" in symmetric", "")).verdict == "no"


#: What a chain of matrices is made of: the dims of a param on its set.
LETTERS = {
    "W": ("NN", "W[N, N] ~ normal in symmetric and zero_diagonal"),
    "Q": ("NN", "Q[N, N] in orthogonal"),
    "V": ("NN", "V[N, N] ~ normal"),
    "R": ("KN", "R[K, N] in orthogonal"),
    "S": ("KK", "S[K, K] ~ normal in symmetric"),
}


def chain_of(draw: random.Random) -> list[tuple[str, bool]]:
    """Matrices, some transposed, that multiply to a square one over N."""
    chain: list[tuple[str, bool]] = []
    dim = "N"
    while not chain or dim != "N" or (len(chain) < 5 and draw.random() < 0.6):
        steps = [(name, turned) for name in LETTERS for turned in (False, True) if LETTERS[name][0][turned] == dim]
        steps = [step for step in steps if len(chain) < 5 or step == ("R", False)] or steps
        chain.append(draw.choice(steps))
        dim = LETTERS[chain[-1][0]][0][not chain[-1][1]]
    if draw.random() < 0.5:  # one that is symmetric by its form
        chain += [(name, not turned) for name, turned in reversed(chain)]
    return chain


def drawn_on_sets(rng: np.random.Generator) -> dict[str, np.ndarray]:
    w, s = rng.standard_normal((5, 5)), rng.standard_normal((3, 3))
    return {
        "V": rng.standard_normal((5, 5)),
        "W": w + w.T - 2 * np.diag(np.diag(w)),
        "S": s + s.T,
        "Q": np.linalg.qr(rng.standard_normal((5, 5)))[0],
        "R": np.linalg.qr(rng.standard_normal((5, 3)))[0].T,
    }


def written(chain: list[tuple[str, bool]], indices: list[str]) -> str:
    """The product of a chain, whose k-th matrix is between the k-th index and the next."""
    places = zip(chain, indices, indices[1:], strict=False)
    return " * ".join(f"{name}[{','.join((b, a) if turned else (a, b))}]" for (name, turned), a, b in places)


def multiplied(chain: list[tuple[str, bool]], values: dict[str, np.ndarray], size: int) -> np.ndarray:
    product = np.eye(size)
    for name, turned in chain:
        product = product @ (values[name].T if turned else values[name])
    return product


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(16))
def test_chains_of_matrices_are_gradients_just_where_their_jacobian_is_symmetric(seed: int) -> None:
    """A chain, or one with a tanh between two of its matrices; judged by NumPy at random params on the sets."""
    print(f"seed {seed}")
    draw = random.Random(seed)
    chain = chain_of(draw)
    symmetric = [(name, not turned) for name, turned in reversed(chain)] == chain
    cut = draw.choice([len(chain) // 2 if symmetric else draw.randint(1, len(chain)), len(chain)])
    indices = ["n", *(f"i{k}" for k in range(len(chain)))]
    inner = f"z[{indices[-1]}]"
    if cut < len(chain):
        inner = f"tanh(sum[{','.join(indices[cut + 1 :])}]({written(chain[cut:], indices[cut:])} * {inner}))"
    force = f"sum[{','.join(indices[1 : cut + 1])}]({written(chain[:cut], indices)} * {inner})"
    print(force)
    _, found = verdict(", ".join(LETTERS[name][1] for name in dict.fromkeys(name for name, _ in chain)), force)
    gaps = []
    for k in range(3):
        rng = np.random.default_rng(seed + k)
        values, middle = drawn_on_sets(rng), multiplied(chain[:cut], drawn_on_sets(rng), 5).shape[1]
        slopes = np.diag(rng.uniform(0.1, 1, middle)) if cut < len(chain) else np.eye(middle)
        jacobian = multiplied(chain[:cut], values, 5) @ slopes @ multiplied(chain[cut:], values, middle)
        gaps.append(float(np.abs(jacobian - jacobian.T).max() / np.abs(jacobian).max()))
    expected = {"conservative" if max(gaps) < 1e-10 else "not-conservative"}
    tired = {"undecided"} if len(chain) > 8 else set()  # the budget of a proof
    assert found.terms["f"].kind in expected | tired, (force, gaps)


def test_products_of_directions_mean_what_the_energy_means() -> None:
    """An energy multiplied out with the sets has the value of the interpreter at params on them."""
    text = """network n
dim N = 5, K = 3
param Q[N, N] in orthogonal, R[K, N] in orthogonal, P[K, N] in sphere[N], H[K, N, N] in orthogonal
param b[N], c[K] ~ normal
state z[N], s[K]
energy square = 1/2 * sum[n](sum[m](Q[n,m] * z[m])^2) - sum[n](b[n] * z[n])
energy code = sum[n]((b[n] - sum[k](R[k,n] * s[k]))^2) + sum[k,n](P[k,n]^2)
energy heads = sum[k,n](c[k] * sum[m](H[k,n,m] * z[m]) * sum[m](H[k,n,m] * b[m]))
energy sizes = sum[k,n,m](H[k,n,m]^2) * sum[k](c[k] * s[k])
energy rows = sum[k,j](s[k] * s[j] * sum[n](R[k,n] * R[j,n])) + sum[k,n](P[k,n]^2 * c[k] * z[n])
energy columns = sum[k](sum[n](R[k,n] * z[n])^2)
"""
    network = resolve(Source("spec.energy", text), Choices())
    rng = np.random.default_rng(3)
    values = {**drawn_on_sets(rng), "H": np.stack([np.linalg.qr(rng.standard_normal((5, 5)))[0] for _ in range(3)])}
    p = rng.standard_normal((3, 5))
    values |= {
        "P": p / np.linalg.norm(p, axis=1, keepdims=True),
        "b": rng.standard_normal(5),
        "c": rng.standard_normal(3),
    }
    states = {"z": rng.standard_normal((1, 5)), "s": rng.standard_normal((1, 3))}
    inputs = {("param", n): v for n, v in values.items()} | {("state", n): v for n, v in states.items()}
    structures = {param.node: param.structure for param in network.params.values()}
    read: dict[str, set[str]] = {}
    for name, term in network.energies.items():
        products = multiplied_out(term.node, structures)
        assert products is not None
        total = 0.0
        for product in products:
            arguments: list[Any] = []
            for factor in product.factors:
                key = (factor.node.kind, factor.node.name)
                arguments += [np.squeeze(inputs[key], 0) if key[0] == "state" else inputs[key], list(factor.axes)]
            total += product.coefficient.number(network.values) * (
                float(np.einsum(*arguments, [])) if arguments else 1.0
            )
        (expected,) = evaluate([term.node], inputs, sizes=network.extents, values=network.values)
        assert total == pytest.approx(float(expected[0]), abs=1e-12), name
        read[name] = {f.node.name for product in products for f in product.factors}
    assert read["square"] == {"z", "b"} and "R" not in read["rows"] and "H" not in read["heads"] - {"H"}
    assert not any(
        f.node.name == "P" for p in multiplied_out(network.energies["code"].node, structures) for f in p.factors
    )


def test_check_suggests_the_set() -> None:
    cases = {
        "V[N, N] ~ normal": ("sum[m](V[n,m] * z[m])", "with `in symmetric[N]` of param V"),
        "V[K, N, N] ~ normal": (
            "sum[k,m](V[k,n,m] * tanh(z[m])) * (1 - tanh(z[n])^2)",
            "with `in symmetric[N]` of param V",
        ),
        "V[N, N] ~ normal in zero_diagonal": ("sum[m](V[n,m] * z[m])", "with `in symmetric[N]` of param V"),
    }
    for params, (force, remedy) in cases.items():
        (_, term) = classes_of(resolved(params, force)).terms
        assert term.remedies == (remedy,), (params, term)
        written = params.replace(" in zero_diagonal", "") + " in symmetric[N]"
        assert verdict(written, force)[1].terms["f"].kind == "conservative"


def test_no_tie_is_suggested_of_directions() -> None:
    (_, term) = classes_of(resolved("Q[N, N] in orthogonal", "sum[m](Q[n,m] * z[m])")).terms
    assert term.verdict == "not-conservative" and term.ties == ()


def test_a_param_shared_with_a_layer_stays_on_its_set_there() -> None:
    text = """network n
dim N = 5
clamp x[N]
param W[N, N] ~ normal(0.1) in symmetric
tie V[a,b] = W[b,a]
layer cell {
  state z[N]
  force f on z[n] = sum[m](W[n,m] * z[m]) + x[n]
  force g on z[n] = sum[m](V[n,m] * z[m])
}
readout o[n] = cell.z[n]
"""
    network = resolve(Source("spec.energy", text), Choices())
    found = classify(network.layers["cell"].network)
    assert {name: v.kind for name, v in found.terms.items()} == {"f": "conservative", "g": "conservative"}


def test_small_sizes_leave_room_for_orthogonal_vectors() -> None:
    """A band keeps K large, so the sizes of proof and witness have as large a D, which alone could be small."""
    band = "sum[l,d | -2 <= k - l and k - l <= 2](Q[k,d] * {} * B[l] * y[l])"
    text = "network n\ndim D = 12, K = 8\nparam Q[K, D] in orthogonal, B[K] ~ normal\nstate y[K], z[D]\n"
    text += f"force f on y[k] = {band.format('Q[l,d]')}\nforce g on y[k] = {band.format('1')}\nforce h on z[d] = -z[d]"
    found = classify(resolve(Source("spec.energy", text), Choices()))
    assert [v.kind for v in found.terms.values()] == ["conservative", "not-conservative", "conservative"]
    witness = found.terms["g"].witness
    assert witness is not None and dict(witness.sizes)["D"] >= dict(witness.sizes)["K"]


def test_a_floor_by_the_norms_that_an_orthogonal_matrix_keeps() -> None:
    """1/2 |Q z|^2 - b.z falls where Q has no full rank, which an orthogonal Q always has."""
    text = "network n\ndim N = 3\nparam {}, b[N] ~ normal\nstate z[N]\n"
    text += "energy e = 1/2 * sum[n](sum[m](Q[n,m] * z[m])^2) - sum[n](b[n] * z[n])"
    cases = {"Q[N, N] in orthogonal": "proved", "Q[N, N] ~ normal": "undecided", "Q[N, N] in sphere[N]": "undecided"}
    for params, expected in cases.items():
        network = resolve(Source("spec.energy", text.format(params)), Choices())
        (floor,) = [c for c in classes_of(network).claims if c.claim == "bounded below"]
        assert floor.verdict == expected, (params, floor)


def test_an_energy_is_not_refuted_by_params_outside_of_their_box() -> None:
    """With 0 <= w <= 1 the energy is at least 0, with w = 4 it falls."""
    text = "network n\ndim N = 3\nparam w[N] = 1/2 in [0, 1]\nstate z[N]\n"
    text += "energy e = sum[n]((1 - w[n]) * abs(z[n])^3)"
    (floor,) = [c for c in classes_of(resolve(Source("spec.energy", text), Choices())).claims if "below" in c.claim]
    assert floor.verdict != "refuted", floor
