"""``%%energy``, in a shell of IPython."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import energyc
from tests.html.hostile import SPEC

pytest.importorskip("IPython")


@pytest.fixture
def shell() -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell

    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(colors="nocolor")
    shell.history_manager.enabled = False
    shell.run_line_magic("load_ext", "energyc")
    yield shell
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


def run(shell: Any, line: str, text: str = SPEC) -> Any:
    return shell.run_cell(f"%%energy {line}\n{text}")


def test_a_cell_binds_its_network(shell: Any) -> None:
    result = run(shell, "")
    assert result.success and result.result is shell.user_ns["hostile"]
    assert type(result.result)._repr_html_ and result.result.W.shape == (3, 2)
    assert run(shell, "mine --seed 3").result is shell.user_ns["mine"]
    assert not (shell.user_ns["mine"].W == shell.user_ns["hostile"].W).all()


def test_options_are_those_of_the_command_line(shell: Any) -> None:
    text = SPEC + "preset wide { J = 5 }\n"
    net = run(shell, "net --preset wide --set I=7 --set relax.steps=3 --set train.dtype=float64", text).result
    assert net.W.shape == (7, 5) and net.relax_steps == 3 and str(net.W.dtype) == "torch.float64"


def test_the_text_is_bound_too(shell: Any) -> None:
    assert run(shell, "net --spec text").success
    assert energyc.check(shell.user_ns["text"]).ok


def test_an_error_is_shown_at_its_line_without_a_traceback(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["net"] = "as before"
    result = run(shell, "net", SPEC.replace("s[j]^2", "s[q]^2"))
    shown = capsys.readouterr().out
    assert not result.success and shell.user_ns["net"] == "as before"
    lines = shown.splitlines()
    (place,) = [k for k, line in enumerate(lines) if "energy leak" in line]
    assert "error[E" in lines[0] and "--> <cell>:7:" in shown and "^" in lines[place + 1]
    assert lines[place + 1].index("^") == lines[place].index("q]")
    assert "Traceback" not in shown and ".py" not in shown and shown.rstrip().endswith("error")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("net --preset none", "none"),
        ("net --set I", "E0905"),
        ("net --set Q=3", "Q"),
        ("lambda", "E0940"),
        ("net --spec 3x", "E0940"),
        ("net --set train.dtype=int8", "dtype"),
        ("net --device nowhere", "E0902"),
        ("net --wrong", "unrecognized arguments"),
        ("net --seed x", "invalid int value"),
    ],
)
def test_a_wrong_option_is_one_message(line: str, said: str, shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = run(shell, line)
    shown = "".join(capsys.readouterr())
    assert not result.success and said in shown
    assert "Traceback" not in shown and ".py" not in shown and "net" not in shell.user_ns


def test_a_network_called_like_a_keyword_needs_a_name(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = SPEC.replace("network hostile", "network lambda")
    assert not run(shell, "", text).success
    assert "E0940" in capsys.readouterr().out
    assert run(shell, "net", text).success


def test_an_internal_error_says_so(
    shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import energyc.proofs.verdicts.in_notation as in_notation

    def broken(network: object) -> object:
        raise RuntimeError("broken")

    monkeypatch.setattr(in_notation, "classes_of", broken)
    assert not run(shell, "net").success
    shown = capsys.readouterr().out
    assert "internal error: this is a bug in energyc" in shown and "Traceback" not in shown


def test_warnings_are_shown_beside_the_network(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = run(shell, "net", SPEC.replace("dim I = 3", "dim Unused = 4, I = 3"))
    assert result.success
    if energyc.check(SPEC.replace("dim I = 3", "dim Unused = 4, I = 3")).diagnostics:
        assert "warning" in capsys.readouterr().err
