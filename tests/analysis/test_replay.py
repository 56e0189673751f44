"""A witness as a stranger meets it: the JSON of ``check``, put into a generated network by what the docs say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import energyc
from tests.cli.run import UNTIED, written
from tests.cli.run import energyc as run

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).resolve().parents[2]
CODE = re.search(r"## Replaying.*?```py\n(.*?)```", (ROOT / "docs/conservativeness.md").read_text(), re.DOTALL)

LOOP_CODE = re.search(
    r"### Replaying a loop.*?```py\n(.*?)```", (ROOT / "docs/conservativeness.md").read_text(), re.DOTALL
)

DERIVED = """\
network derived
dim T = 12, D = 24, H = 4, A = D / H
const heat = 1 / sqrt(A)
clamp seen[T] : D
param W_q[H, D, A], W_k[H, D, A] ~ normal(0.3)
state z[T, D] in [0, 2]
let q[h,t,a] = sum[d](z[t,d] * W_q[h,d,a])
let k[h,t,a] = sum[d](z[t,d] * W_k[h,d,a])
let p[h,t,s] = softmax[s | s <= t](heat * sum[a](q[h,t,a] * k[h,s,a]))
force attention on z[t,d] = sum[h,s](p[h,t,s] * z[s,d]) + where(d == seen[t], 1, 0) * tanh(z[t,d])
readout out[t,d] = z[t,d]
cost c = sum[t,d](z[t,d]^2)
"""


@pytest.fixture(autouse=True)
def _dtype() -> Iterator[None]:
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)


def replayed(spec: str, together: bool = False) -> tuple[Any, float, float]:
    """The first witness of a spec, or that of its terms together, and its two entries by the code in the docs."""
    assert CODE is not None
    names: dict[str, Any] = {"spec": spec}
    asked = 'witness = energyc.check(spec).to_json()["together"]["witness"]'
    exec(re.sub("witness = .*", asked, CODE[1], count=1) if together else CODE[1], names)
    return names["witness"], float(names["slope"]("row", "column")), float(names["slope"]("column", "row"))


@pytest.mark.parametrize("text", [UNTIED, DERIVED], ids=["untied", "derived"])
def test_the_entries_of_a_refuted_force_are_found_again(text: str) -> None:
    witness, entry, mirror = replayed(text)
    assert witness["certified"] and witness["entry"] != witness["mirror"]
    assert entry == pytest.approx(witness["entry"], rel=1e-6)
    assert mirror == pytest.approx(witness["mirror"], rel=1e-6)


@pytest.mark.abridged
@pytest.mark.parametrize(("name", "together"), [("thin", False), ("thick", True), ("thick_tied", True)])
def test_a_shipped_network_can_be_set_to_the_point_of_its_witness(name: str, together: bool) -> None:
    witness, entry, mirror = replayed(str(ROOT / f"specs/{name}.energy"), together)
    assert entry - mirror == pytest.approx(witness["entry"] - witness["mirror"], rel=1e-6)


def test_the_json_of_the_command_has_all_of_the_point(tmp_path: Path, capfd: Capture) -> None:
    found = run(capfd, "check", written(tmp_path, UNTIED), "--format", "json").json["terms"][1]["witness"]
    assert found["sizes"] == found["load"]["dims"] == {"D": 3, "F": 3}
    assert {name: torch.tensor(value).shape for name, value in found["point"].items()} == {
        "z": (3,),
        "W1": (3, 3),
        "W2": (3, 3),
    }
    assert found == energyc.check(UNTIED).to_json()["terms"][1]["witness"]
    assert all(128 * x == int(128 * x) for row in found["point"]["W1"] for x in row)


VORTEX = """\
network vortex
dim N = 2
param W[N] ~ normal(0.3)
state x, y
energy confine = 1/4 * (x^2 + y^2)^2 + sum[n](W[n]) * x
force f on x = -1 / y / (1 + (x / y)^2)
force g on y = x / y / y / (1 + (x / y)^2)
readout out = y
cost c = y^2
"""


@pytest.mark.parametrize("text", [VORTEX, UNTIED.replace("tanh(", "relu'(")], ids=["vortex", "steps"])
def test_the_work_of_a_loop_is_found_again(text: str) -> None:
    assert LOOP_CODE is not None
    names: dict[str, Any] = {"spec": text}
    exec(LOOP_CODE[1], names)
    assert names["witness"]["kind"] == "loop" and names["work"] == pytest.approx(names["witness"]["work"], rel=1e-4)


def test_sizes_of_a_witness_are_sizes_that_the_spec_can_have() -> None:
    (term,) = energyc.check(DERIVED).to_json()["terms"]
    sizes = term["witness"]["sizes"]
    assert sizes["A"] * sizes["H"] == sizes["D"] < 24 and term["witness"]["load"]["dims"]["H"] == sizes["H"]


def test_the_text_has_a_small_point_whole_and_says_where_a_large_one_is(tmp_path: Path, capfd: Capture) -> None:
    small = UNTIED.replace("D = 4, F = 3", "D = 2, F = 1")
    told = run(capfd, "check", written(tmp_path, small)).out
    values = energyc.check(small).to_json()["terms"][1]["witness"]["point"]
    assert f"    at D = 2, F = 1: z = {values['z']}, W2 = {values['W2']}, W1 = {values['W1']}\n" in told
    told = run(capfd, "check", written(tmp_path, UNTIED)).out
    assert re.search(r"    at D = 3, F = 3: z\[\d\] = \S+, z\[\d\] = \S+; all 21 numbers: check --format json\n", told)
