"""SymPy as a judge: every derivation, at small sizes, against what SymPy derives of the written-out formulas."""

from __future__ import annotations

from random import Random

import pytest
import sympy

from energyc.language.diagnostics import SpecError
from energyc.language.network import Network
from energyc.pipeline import Choices, read, resolve
from energyc.studies.symbolic.formulas import WrittenOut
from tests.drawing import seeds
from tests.emit.random_specs import SpecMaker
from tests.symbolic.judge import Judge
from tests.symbolic.numbers import entries
from tests.symbolic.small import MODELS, SPECS, parts, small

#: Those that take a second; the others are slow.
QUICK = ("cem_literal", "deep_hopfield", "deq", "hopfield", "modern_hopfield", "tel", "boltzmann", "kuramoto", "sphere")
#: Products that writing a random spec out may take, over all that is derived of it.
MOST = 3_000
RANDOM = (1, 3, 4, 5, 6)


def case(name: str) -> object:
    return pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow])


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("name", [case(name) for name in (*SPECS, *MODELS)])
def test_a_spec_is_derived_as_sympy_derives_it(name: str) -> None:
    """And its formulas have the values that the interpreter gives them."""
    for network in parts(small(name)):
        judge = Judge(network)
        assert judge.misread() == {}
        assert judge.misderived() == {}


def drawn(seed: int, *, timed: bool = False, real: bool = False) -> Network:
    """The network of a seed; a spec that does not type, or is too large to be written out here, is skipped."""
    text = SpecMaker(Random(seed), depth=2, timed=timed, real=real).text()
    print(f"seed {seed}\n{text}")
    try:
        network = resolve(read(text), Choices())
    except SpecError:
        pytest.skip("no spec")
    if Judge(network).products > MOST:
        pytest.skip("too large")
    return network


def judged(network: Network) -> None:
    judge = Judge(network)
    assert judge.misread() == {}
    assert judge.misderived() == {}


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("seed", RANDOM)
def test_a_random_spec_is_derived_as_sympy_derives_it(seed: int) -> None:
    judged(drawn(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(60))
@pytest.mark.parametrize("kind", ["plain", "timed", "real"])
def test_a_random_spec_at_length(seed: int, kind: str) -> None:
    judged(drawn(seed, timed=kind == "timed", real=kind == "real"))


@pytest.mark.abridged
@pytest.mark.parametrize("name", ["hopfield", "modern_hopfield", "kuramoto"])
def test_the_whole_derivative_is_the_same_formula(name: str) -> None:
    """By ``sympy.diff`` of the whole energy, and by algebra alone: the difference simplifies to 0."""
    network = small(name)
    written = WrittenOut(network)
    energy = sympy.Add(*written.terms.values())
    for state, force in written.forces.items():
        for z, f in zip(written.entries[state], entries(force), strict=True):
            assert sympy.simplify(sympy.diff(energy, z) + f) == 0
    for param, slope in written.updates.items():
        for theta, own in zip(written.entries[param], entries(slope), strict=True):
            assert sympy.simplify(sympy.diff(energy, theta) - own) == 0
