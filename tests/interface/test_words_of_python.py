"""Errors that reach a program name options as Python does, and on the command line as it does."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch

import energyc
from energyc.language.diagnostics import Given, Option, Resuming, UserError, spoken
from tests.cli.run import energyc as command
from tests.interface.test_calls import SPEC

BIASED = SPEC.replace("energy e =", "force twist on z[j] = sum[i](x[i] * W[i,j] * y[0])\nenergy e =")


def test_an_option_is_said_in_both_words() -> None:
    help_text = spoken("use {} or {}, or {}", Option("device", "cpu"), Option("allow_biased", True), Resuming("runs/a"))
    error = UserError("no", help=help_text)
    assert error.help == "use --device cpu or --allow-biased, or energyc train --resume runs/a"
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert str(each) == 'no\n  = help: use device="cpu" or allow_biased=True, or energyc.resume("runs/a")'


def test_a_folder_is_said_so_that_it_can_be_copied() -> None:
    help_text = spoken("continue with: {}", Resuming('my "runs"/{a}'))
    assert help_text == "continue with: energyc train --resume 'my \"runs\"/{a}'"
    assert help_text.python == 'continue with: energyc.resume("my \\"runs\\"/{a}")'


def test_what_is_given_for_a_binding() -> None:
    help_text = spoken("write {} or {}", Given("left"), Given(None, "FILE", '"FILE"'))
    assert help_text == "write --data left=PATH or --data FILE"
    assert help_text.python == 'write data={"left": ...} or data="FILE"'


def test_a_message_is_said_in_both_words() -> None:
    error = UserError(spoken("{} is wrong", Option("data")))
    assert error.message == "--data is wrong" and str(error) == "data= is wrong"


@pytest.mark.parametrize(
    ("data", "help_text"),
    [
        (Path("a.csv"), "expected an npz with an array for each input: x float32 [samples, 4], t float32"),
        ({"x": torch.zeros(10, 4)}, "give it: data={"),
        ({"x": torch.zeros(10, 3), "t": torch.zeros(10, 2)}, "set the dims of the spec: dims={...}"),
    ],
)
def test_data_that_do_not_fit(data: object, help_text: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        energyc.train(SPEC, data, out=tmp_path / "run", steps=1)
    assert help_text in str(caught.value) and "--" not in str(caught.value)


def test_data_of_a_spec_with_several_bindings(tmp_path: Path) -> None:
    bound = "data one = table(inputs = 4, targets = 2)\ndata two = digits(side = 8)\n"
    text = SPEC.replace("clamp", f"{bound}clamp", 1)
    with pytest.raises(UserError) as caught:
        energyc.train(text, "a.csv", out=tmp_path / "run", steps=1)
    assert 'write data={"one": ...} or data={"two": ...}' in str(caught.value) and "--" not in str(caught.value)


def test_a_biased_rule(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data = {"x": torch.zeros(10, 4), "t": torch.zeros(10, 2)}
    with pytest.raises(UserError, match="insist with allow_biased=True"):
        energyc.train(BIASED, data, rule="ep", out=tmp_path / "run")
    (tmp_path / "cell.energy").write_text(BIASED)
    own = "import torch\n\ndef samples():\n    return torch.zeros(10, 4), torch.zeros(10, 2)\n"
    (tmp_path / "own.py").write_text(own)
    given = ("--data", f"{tmp_path / 'own.py'}:samples", "--out", tmp_path / "run")
    done = command(capfd, "train", tmp_path / "cell.energy", "--rule", "ep", *given)
    assert "insist with --allow-biased" in done.err


def test_a_device_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match='use device="cpu"'):
        energyc.load(SPEC, device="meta")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    data = {"x": torch.zeros(10, 4), "t": torch.zeros(10, 2)}
    with pytest.raises(UserError, match="choose another out="):
        energyc.train(SPEC, data, out=tmp_path / "full", steps=1)
