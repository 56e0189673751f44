"""Networks whose truth is known by construction: no proof is false, and all but a few have a certificate.

Those without one are undecided in the report of ``check``, which names the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from energyc.language.diagnostics import Source, SpecError
from energyc.pipeline import Choices, resolve
from energyc.proofs.verdicts.in_notation import classes_of
from tests.analysis import test_claims_at_random as pieces
from tests.analysis import test_rest_at_random as rests
from tests.analysis.test_conditions import drawn as selection
from tests.analysis.test_conditions import falls
from tests.analysis.test_floors_at_random import drawn as on_sets
from tests.analysis.test_skew_gradients import skew_of
from tests.analysis.test_smooth_selections import bent
from tests.analysis.written_forces import FAMILIES
from tests.drawing import SEED, draws

Rng = np.random.Generator
#: A spec, and of some claims, or of its class, whether they are true.
Draw = tuple[str, Mapping[str, bool | None]]
FLOOR, RESTS, UNIQUE = "bounded below", "an equilibrium exists", "there is only one equilibrium"


def floors(rng: Rng) -> Draw:
    text, has_floor = pieces.energy_of(rng)
    return text, {FLOOR: has_floor}


def steps(rng: Rng) -> Draw:
    text, _, contracts = pieces.step_of(rng)
    return text, {"contraction": contracts}


def flows(rng: Rng) -> Draw:
    (flow, positive), inner = (list(pieces.METRICS.items())[rng.integers(5)], pieces.RISING[rng.integers(5)])
    known = {} if "norm" in inner else {"positive semidefinite": positive}
    return pieces.flow_by(inner, flow), known


def resting(rng: Rng) -> Draw:
    text, found = rests.energy_of(rng)
    return text, {RESTS: found != rests.NONE, UNIQUE: found == rests.ONE}


def norms(rng: Rng) -> Draw:
    return rests.force_of(rng)[0], {}


def metrics(rng: Rng) -> Draw:
    return rests.metric_of(rng)


def heads(rng: Rng) -> Draw:
    return rests.metric_of(rng, heads=True)


def spheres(rng: Rng) -> Draw:
    text, known = rests.turned(rng)
    return text, {RESTS: known}


def selections(rng: Rng) -> Draw:
    condition, sides = selection(rng)
    text = f"network n\nstate a, b\nenergy e = where({condition}, {sides})\nenergy moving = cos(a) + cos(b)\n"
    return text, {FLOOR: not falls(condition, sides)}


def slopes(rng: Rng) -> Draw:
    return bent(rng)


def sets(rng: Rng) -> Draw:
    return on_sets(rng)[0], {}


def skews(rng: Rng) -> Draw:
    text, invertible = skew_of(rng)
    return text, {"invertible": invertible}


def forces(rng: Rng) -> Draw:
    family = list(FAMILIES.values())[rng.integers(len(FAMILIES))]
    text, conservative = family(rng)
    return text, {"class": conservative}


GENERATORS: tuple[Callable[[Rng], Draw], ...] = (
    floors, steps, flows, resting, norms, metrics, heads, spheres, selections, slopes, sets, skews, forces,
)  # fmt: skip


def judged(draw: Draw) -> tuple[Counter[str], list[str]]:
    """How many claims of a draw are proved and certified, and the reasons why others are not."""
    text, known = draw
    try:
        classes = classes_of(resolve(Source("drawn.energy", text), Choices()))
    except SpecError:
        return Counter(), []
    for claim in classes.claims:
        assert "a bug in energyc" not in claim.evidence, (text, claim)
        true = known.get(claim.claim)
        assert true is None or claim.verdict != ("refuted" if true else "proved"), (text, claim)
    assert not any("a bug in energyc" in reason for term in classes.terms for reason in term.tried), (text, classes)
    if known.get("class") is not None and classes.verdict in ("conservative", "not-conservative"):
        assert (classes.verdict == "conservative") == known["class"], text
    file = classes.certificates
    reasons = [entry["reason"] for entry in file["uncertified"]]
    return Counter(proved=len(file["claims"]) + len(file["certificates"]), open=len(reasons)), reasons


@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS, ids=lambda generator: str(generator.__name__))
def test_proofs_have_certificates(generator: Callable[[Rng], Draw]) -> None:
    print(f"ENERGYC_SEED={SEED}")
    rng, counts, open_ = np.random.default_rng(SEED), Counter[str](), Counter[str]()
    for _ in range(draws(15)):
        found, reasons = judged(generator(rng))
        counts += found
        open_.update(reasons)
    print(dict(counts), dict(open_))
    assert counts["open"] <= 2 + counts["proved"] / 20
