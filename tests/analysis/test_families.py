"""Forces of known class: none may be classified wrongly, whatever the draw."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from energyc.language.diagnostics import SpecError
from energyc.proofs.conservativeness.decide import decide
from tests.analysis.families import FAMILIES
from tests.analysis.spelled import network_of, proofs_of, verdict_of
from tests.drawing import SEED, draws
from tests.quick import few

#: Their Jacobian may be symmetric although they are not gradients: the kernel alone cannot tell.
BEYOND_JACOBIANS = {"jumps", "holes", "selections"}
#: Of these the language has no form: numbers alone judge them.
UNSPELLED = {"cyclic", "relation"}


def outcome(family: str, number: int) -> tuple[str, str]:
    """The truth about one draw, and the verdict on it."""
    generator = np.random.default_rng([SEED, number, *family.encode()])
    field, conservative = FAMILIES[family](generator)
    try:
        said = decide(field, generator).kind if family in UNSPELLED else verdict_of(field)
    except SpecError as error:  # the language has no argmax in a force
        assert all("argmax" in diagnostic.message for diagnostic in error.diagnostics)
        said = decide(field, generator).kind
    return "conservative" if conservative else "not-conservative", said


def tally(family: str, count: int) -> Counter[tuple[str, str]]:
    counts = Counter(outcome(family, number) for number in range(count))
    wrong = {pair: n for pair, n in counts.items() if pair[1] not in (pair[0], "undecided")}
    assert not wrong, f"{family} with ENERGYC_SEED={SEED}: {wrong}"
    return counts


@pytest.mark.abridged
@pytest.mark.parametrize("family", few(FAMILIES, lambda family: family not in ("attention", "layer_norm")))
def test_no_draw_is_classified_wrongly(family: str) -> None:
    tally(family, 4)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_many_draws(family: str) -> None:
    """Prints the seed, and how many were left undecided."""
    count = tally(family, draws(500) // len(FAMILIES) + 1)
    for truth in ("conservative", "not-conservative"):
        total = sum(n for (t, _), n in count.items() if t == truth)
        print(f"ENERGYC_SEED={SEED}: {family}: {truth}: {count[truth, 'undecided']} of {total} undecided, none wrong")


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("family", sorted(set(FAMILIES) - BEYOND_JACOBIANS - UNSPELLED))
def test_the_kernel_alone_proves_nothing_false(family: str) -> None:
    """Without the numbers that go before it: no certificate for a force that is not a gradient."""
    for number in range(4):
        generator = np.random.default_rng([SEED, number, *family.encode()])
        field, conservative = FAMILIES[family](generator)
        if not conservative:
            assert not any(proofs_of(network_of(field))), f"{family} {number} with ENERGYC_SEED={SEED}"


@pytest.mark.abridged
@pytest.mark.parametrize(
    "family",
    [
        "attention",
        "clamped_keys",
        "tied_network",
        "layer_norm",
        "linear_map",
        "products",
        "neighbours",
        "gathers",
    ],
)
def test_gradients_of_common_forms_are_proved(family: str) -> None:
    for number in range(4):
        truth, said = outcome(family, number)
        assert said == truth, f"{family} {number} with ENERGYC_SEED={SEED}"


def test_a_jump_there_and_back_between_samples_is_no_work() -> None:
    """Two largest entries change places twice within a hundred-thousandth of an edge, where no quadrature looks."""
    generator = np.random.default_rng([911791088, 12, *b"kinks"])
    field, conservative = FAMILIES["kinks"](generator)
    assert conservative and decide(field, generator).kind != "not-conservative"
