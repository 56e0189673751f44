"""Options of data set from outside: by a preset or an override they are what they are when they are written."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from energyc.language.diagnostics import Source, SpecError
from energyc.language.settings import written
from energyc.pipeline import Choices, read, resolve
from energyc.running.runs.resolved import resolved_text
from tests.cli.run import SMALL, energyc
from tests.cli.run import written as spec_file
from tests.data.test_data_digits import write_folder
from tests.data.test_data_schemas import OPTIONS
from tests.drawing import SEED

Capture = pytest.CaptureFixture[str]


def _spec(adapter: str, options: dict[str, Any], preset: dict[str, Any] | None = None) -> Source:
    given = ", ".join(f"{name} = {written(value)}" for name, value in options.items())
    named = ", ".join(f"d.{name} = {written(value)}" for name, value in (preset or {}).items())
    lines = [f"network n\ndata d = {adapter}({given})", "state z", "energy e = z^2", "relax { step = 1/4 }"]
    return read("\n".join([*lines, f"preset p {{ {named} }}" if named else "", ""]))


@pytest.mark.parametrize("adapter", OPTIONS)
def test_an_option_that_is_set_is_as_if_it_were_written(adapter: str) -> None:
    """Of each adapter a random part of the options is written, and the others are set, over others that are written."""
    generator = random.Random(f"{SEED} {adapter}")
    options = OPTIONS[adapter]
    expected = resolve(_spec(adapter, options)).bindings["d"].options
    for _ in range(4):
        within = {name: value for name, value in options.items() if generator.random() < 0.5}
        outside = {name: value for name, value in options.items() if name not in within or generator.random() < 0.5}
        overrides = {f"d.{name}": value for name, value in outside.items()}
        for source, choices in (
            (_spec(adapter, within), Choices.of(settings=overrides)),
            (_spec(adapter, within, outside), Choices("p" if outside else None)),
        ):
            about = f"seed {SEED}: {source.text} {choices}"
            assert resolve(source, choices).bindings["d"].options == expected, about
            again = Source("spec.energy", resolved_text(source, choices))
            assert resolve(again).bindings["d"].options == expected, about


def test_sizes_follow_an_option_and_an_option_may_be_a_dim() -> None:
    source = read(SMALL.replace("I = 64", "I = digits.pixels"))
    assert resolve(source, Choices.of(settings={"digits.side": 12})).extents["I"] == 144
    network = resolve(source, Choices.of(settings={"digits.side": "J"}))
    assert (network.extents["I"], network.bindings["digits"].dims) == (36, {})
    dim = resolve(read(SMALL.replace("side = 8", "side = J").replace("J = 6", "J = 8")))
    assert dim.bindings["digits"].dims == {"side": "J"}


@pytest.mark.parametrize(
    ("setting", "value", "code", "message", "help_text"),
    [
        ("digits.sid", 8, "E0601", "digits: there is no option sid", "did you mean side?"),
        ("digits.side", 0, "E0601", "digits: option side is 0", "a whole number from 2 to 128"),
        ("digits.side", "wide", "E0601", "digits: option side is wide", "a whole number"),
        ("digits.side.x", 8, "E0541", "digits has no option `side.x`", "digits.OPTION"),
        ("digit.side", 8, "E0541", "there are no settings `digit`", "did you mean `digits`?"),
        ("digits.side", 10, "E0603", "", ""),
    ],
)
def test_an_option_that_is_wrong(setting: str, value: Any, code: str, message: str, help_text: str) -> None:
    with pytest.raises(SpecError) as raised:
        resolve(read(SMALL), Choices.of(settings={setting: value}))
    (error,) = raised.value.diagnostics
    assert error.code == code and message in error.message and help_text in (error.help or "")


def test_an_option_of_data_that_are_replaced_leaves_no_trace(tmp_path: Path) -> None:
    source, choices = read(SMALL), Choices.of(settings={"digits.side": 8})
    text = resolved_text(source, choices, {"x", "label"})
    assert "data" not in text and "digits" not in text
    assert resolve(Source("spec.energy", text)).extents["I"] == 64


@pytest.mark.parametrize(
    ("data", "flag"),
    [
        ("digits(side = 8)", "give --set digits.side=5"),
        ("digits(side = S)", "give --set S=5"),
    ],
)
def test_files_of_other_sizes_name_the_setting_that_fits(data: str, flag: str, tmp_path: Path, capfd: Capture) -> None:
    write_folder(tmp_path, 5)
    path = spec_file(tmp_path, SMALL.replace("I = 64", "S = 8, I = S * S").replace("digits(side = 8)", data))
    done = energyc(capfd, "train", path, "--data", tmp_path, "--out", tmp_path / "run")
    assert done.status == 1 and flag in done.err, done.err
    dims = flag.split()[2] if "S=" in flag else "S=5 --set digits.side=5"
    words = ["--set", *dims.split(), "--steps", "1", "--target", "torch", "--quiet"]
    assert energyc(capfd, "train", path, "--data", tmp_path, "--out", tmp_path / "run", *words).status == 0


@pytest.mark.parametrize(
    ("spec", "arguments", "said"),
    [
        ("cet", ["--preset", "small"], "images need Pillow, which is not installed"),
        ("hopfield_conv", [], "--set BINDING.source=digits needs no files"),
        ("hopfield", ["--data", "missing"], "missing"),
        ("hopfield", ["--log", "wandb"], "there is no logger wandb"),
        ("hopfield", ["--log", "tensorboard"], "TensorBoard"),
        ("et_anomaly", [], "is computed by scikit-learn, which is not installed"),
    ],
)
def test_what_a_run_lacks_is_said_before_anything_is_compiled(
    spec: str, arguments: list[str], said: str, tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiled(*_: object, **__: object) -> None:
        raise AssertionError("compiled before what is missing was said")

    for library in ("PIL.Image", "sklearn.metrics", "tensorboard.compat.proto.event_pb2", "tensorboard"):
        monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr("energyc.running.runs.prepare.compiled_for", compiled)
    done = energyc(capfd, "train", spec, *arguments, "--out", tmp_path / "run")
    assert done.status == 1 and said in done.err, done.err
