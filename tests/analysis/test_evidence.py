"""Witnesses and potentials: what is claimed of them, against numbers made in another way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from energyc.language.diagnostics import Source
from energyc.mathematics.functions import FUNCTIONS
from energyc.mathematics.ir import ONE
from energyc.mathematics.ir.interpreter import evaluate
from energyc.pipeline import Choices, resolve
from energyc.proofs.conservativeness.classify import classify
from energyc.proofs.conservativeness.potential import is_potential
from energyc.proofs.conservativeness.witness import find_witness
from energyc.proofs.enclosures.intervals import Interval, mapped
from energyc.proofs.fields.problem import ForceField
from energyc.proofs.fields.sizes import small_sizes
from tests.analysis.build import A0, A1, A2, Build, integer, op, times
from tests.analysis.spelled import network_of, spelled


def untied() -> tuple[Build, ForceField]:
    b = Build({"t": "T", "d": "D", "f": "F"}, {"T": 64, "D": 128, "F": 512})
    z = b.state("z", "td")
    u = b.es("td,df->tf", z, b.param("W1", "df"))
    return b, b.field({z: b.es("tf,fd->td", b.map("tanh", u), b.param("W2", "fd"))})


# ---------------------------------------------------------------- witnesses


def test_a_polynomial_forces_witness_is_two_exact_fractions() -> None:
    b = Build({"d": "D", "e": "D"}, {"D": 128})
    z, a = b.state("z", "d"), b.param("A", "de")
    witness = find_witness(b.field({z: b.es("e,de->d", z, a)}), np.random.default_rng(0)).witness
    assert witness is not None and witness.certified and witness.arithmetic == "fractions"
    (row,), (column,) = witness.row.index, witness.column.index
    matrix = dict(witness.point)["A"]
    assert witness.entry.low == witness.entry.high == Fraction(matrix[row][column])  # type: ignore[index]
    assert witness.mirror.low == Fraction(matrix[column][row])  # type: ignore[index]


def test_a_witness_holds_by_central_differences() -> None:
    _, field = untied()
    witness = find_witness(field, np.random.default_rng(3)).witness
    assert witness is not None and witness.certified and witness.arithmetic == "intervals"
    sizes = dict(witness.sizes)
    point = {name: np.asarray(value) for name, value in witness.point}

    def entry(row: tuple[int, ...], column: tuple[int, ...], h: float = 1e-6) -> float:
        values = []
        for step in (h, -h):
            z = point["z"].copy()
            z[column] += step
            (force,) = evaluate(field.roots, {**point, "z": z[None]}, sizes=sizes, values={})
            values.append(force[0][row])
        return (values[0] - values[1]) / (2 * h)

    assert entry(witness.row.index, witness.column.index) == pytest.approx(witness.entry.middle, abs=1e-7)
    assert entry(witness.column.index, witness.row.index) == pytest.approx(witness.mirror.middle, abs=1e-7)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"silu_integral"}))
def test_intervals_enclose_every_function(name: str) -> None:
    points = np.concatenate([np.linspace(0.01, 6, 40), [] if name in ("log", "sqrt") else -np.linspace(0.01, 6, 40)])
    for width in (0.0, 1e-3):
        enclosure = mapped(FUNCTIONS[name], Interval(points - width, points + width))
        for shift in (-width, 0.0, width):
            value = FUNCTIONS[name].value(points + shift)
            assert np.all(enclosure.low <= value) and np.all(value <= enclosure.high), name
        assert width or np.all(enclosure.high - enclosure.low < 1e-10 * (1 + np.abs(enclosure.high)))


# ---------------------------------------------------------------- sizes


def test_windows_keep_their_reach_when_sizes_shrink() -> None:
    b = Build({"i": "G", "u": "S", "p": "P"}, {"G": 11, "S": 120, "P": 20})
    place = op("+", times(10, A1), A2)
    node = b.es("uip,u->ip", b.mask("uip", op("==", A0, place)), b.state("y", "u"))
    sizes = small_sizes([node], b.sizes)
    assert 10 * (sizes["G"] - 1) + sizes["P"] - 1 == sizes["S"] - 1
    assert sizes["S"] < 60 and sizes["G"] >= 3 and sizes["P"] >= 3


def test_a_named_position_keeps_its_dim() -> None:
    b = Build({"t": "T", "d": "D"}, {"T": 9, "D": 50})
    node = b.es("t,td->d", b.mask("t", op("==", A0, integer(7))), b.state("z", "td"))
    assert small_sizes([node], b.sizes) == {"T": 9, "D": 3}


# ---------------------------------------------------------------- potentials and ties


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "silu", "gelu", "softplus", "relu", "abs", "exp", "sin", "cos"])
def test_the_potential_of_a_tied_network(name: str) -> None:
    b = Build({"t": "T", "d": "D", "f": "F"}, {"T": 3, "D": 4, "F": 5})
    z, w, c = b.state("z", "td"), b.param("W", "df"), b.param("c", "f")
    u = b.add(b.es("td,df->tf", z, w), b.graph.spread(b.param("b", "f"), b.dims("tf"), (1,)))
    field = b.field({z: b.es("tf,df,f->td", b.map(name, u), w, c)})
    assert classify(network_of(field)).terms["f_z"].potential is not None


def test_a_wrong_potential_is_refused() -> None:
    b = Build({"d": "D"}, {"D": 4})
    z = b.state("z", "d")
    field = b.field({z: b.scale(-1, z)})
    half = b.es("d,d->", z, z, c=Fraction(1, 2))
    assert is_potential(field, half, np.random.default_rng(0))
    assert not is_potential(field, b.es("d,d->", z, z), np.random.default_rng(0))
    assert not is_potential(field, b.graph.scale(ONE, b.es("d,d->", z, b.map("sign", z))), np.random.default_rng(0))


def test_the_tie_that_makes_a_feed_forward_an_energy_is_found() -> None:
    _, field = untied()
    assert [str(tie) for tie in classify(network_of(field)).terms["f_z"].ties] == ["W2[a,b] = W1[b,a]"]


def test_a_matrix_that_wants_to_be_symmetric_is_found() -> None:
    b = Build({"d": "D", "e": "D"}, {"D": 40})
    z, a = b.state("z", "d"), b.param("A", "de")
    field = b.field({z: b.es("e,de->d", z, a)})
    assert [str(tie) for tie in classify(network_of(field)).terms["f_z"].ties] == ["A[a,b] = A[b,a]"]
    text = spelled(field)
    tied = text.replace("param A[D, D] ~ normal(1)", "param A[D, D] ~ normal(1) in symmetric")
    assert tied != text and classify(resolve(Source("tied.energy", tied), Choices())).kind == "conservative"
