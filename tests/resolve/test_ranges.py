"""The range check of windows against trying every position."""

from __future__ import annotations

import random
from itertools import product

import pytest

from energyc.language.resolve import ranges
from tests.resolve.helpers import codes


def drawn(rng: random.Random) -> tuple[str, str, dict[str, int]]:
    """A place, a condition and sizes."""
    sizes = {"I": rng.randint(1, 4), "J": rng.randint(1, 4), "S": rng.randint(1, 9)}
    place = f"{rng.randint(-2, 2)}*i + {rng.randint(-2, 2)}*j + {rng.randint(-2, 3)}"
    if rng.random() < 0.2:
        place = f"i*j + {rng.randint(-1, 2)}"
    conditions = [
        f"0 <= {place} < S",
        f"{place} >= 0",
        f"S > {place}",
        f"not ({place} < 0 or {place} >= S)",
        f"i {rng.choice(['<', '<=', '==', '!=', '>'])} {rng.randint(0, 3)}",
        f"i + j < {rng.randint(0, 5)} and {place} != S",
        "0 == 0",
    ]
    return place, rng.choice(conditions), sizes


def leaves(place: str, condition: str, sizes: dict[str, int]) -> bool:
    """Whether some position that the condition keeps lies outside."""
    for i, j in product(range(sizes["I"]), range(sizes["J"])):
        known = {"i": i, "j": j, "S": sizes["S"]}
        if eval(condition, {}, known) and not 0 <= eval(place, {}, known) < sizes["S"]:
            return True
    return False


def said(place: str, condition: str, sizes: dict[str, int]) -> set[str]:
    dims = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    text = f"dim {dims}\nstate z[S]\nenergy e = sum[i in I, j in J](where({condition}, z[{place}], 0))"
    return {code for code in codes(text) if code.startswith("E")}


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("seed", range(40))
def test_a_window_is_refused_where_it_leaves_its_dim(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        place, condition, sizes = drawn(rng)
        expected = {"E0308"} if leaves(place, condition, sizes) else set()
        assert said(place, condition, sizes) == expected, (seed, place, condition, sizes)


def test_bounds_alone_never_let_a_window_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "MOST_TRIED", 0)
    rng = random.Random(7)
    kept = 0
    for _ in range(300):
        place, condition, sizes = drawn(rng)
        if not said(place, condition, sizes):
            kept += 1
            assert not leaves(place, condition, sizes), (place, condition, sizes)
    assert kept > 50


def test_padding_is_accepted_at_any_size() -> None:
    text = "dim S = 100000000, P = 7\nclamp x[S]\nstate z[S]\n"
    text += "energy e = sum[i in S, p in P](z[i] * where(0 <= i + p - 3 < S, x[i + p - 3], 0))"
    assert codes(text) == []
