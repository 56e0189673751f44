"""What is missing is said at once, before anything heavy is imported: optional libraries, specs, runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from energyc.extras import install_extra, requirements
from tests.cli.run import ROOT, in_python

#: What a command needs that not every installation has: arguments, the module, its extra, the code of the error.
NEEDS = {
    "plot": (["plot", "run"], "matplotlib", "plots", "E0530"),
    "eval": (["eval", "run", "--bits", "4", "--picture", "x.png"], "matplotlib", "plots", "E0530"),
    "train": (["train", "hopfield", "--log", "tensorboard"], "tensorboard", "logs", "E0952"),
    "lsp": (["lsp"], "pygls", "lsp", "E0925"),
    "lsp, its types": (["lsp"], "lsprotocol", "lsp", "E0925"),
}
WITHOUT = """
import sys
sys.modules[{module!r}] = None
from energyc.surfaces.cli import main
status = main({arguments!r})
print(status, sorted({{"torch", "sympy", "scipy", "numpy"}} & set(sys.modules)))
"""
#: Each command that writes where it is told, without the path.
OUTPUTS = (
    "compile hopfield -o",
    "explain hopfield -o",
    "check hopfield --certificates",
    "export hopfield --to spice -o",
    "view run -o",
    "eval run --bits 4 --picture",
)
#: Each command with a path that leads to nothing, and the code of its error.
NOWHERE = {
    **{f"{command} nowhere": "E0901" for command in ("check", "compile", "train", "bench", "explain", "verify")},
    **{f"{command} nowhere": "E0511" for command in ("eval", "plot", "view", "sample", "train --resume")},
    **{f"export nowhere --to {kind}": "E0901" for kind in ("spice", "ising", "sympy")},
    "show nowhere --stage torch": "E0901",
    "fmt nowhere": "E0901",
    **{f"{command} .": "E0511" for command in ("eval", "plot", "view", "sample", "train --resume", "verify")},
    **{f"{command} .": "E0901" for command in ("check", "compile", "train", "bench", "fmt")},
}


@pytest.mark.parametrize("command", NOWHERE)
def test_a_path_to_nothing_is_refused_before_anything_heavy_is_imported(command: str, tmp_path: Path) -> None:
    done = in_python(WITHOUT.format(module="nothing", arguments=command.split()), folder=tmp_path)
    assert done.stdout == "1 []\n", done.stderr
    assert done.stderr.startswith(f"error[{NOWHERE[command]}]: ") and "  = help: " in done.stderr


@pytest.mark.parametrize("case", NEEDS)
def test_a_missing_library_is_said_before_anything_heavy_is_imported(case: str, tmp_path: Path) -> None:
    arguments, module, extra, code = NEEDS[case]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    done = in_python(WITHOUT.format(module=module, arguments=arguments), folder=tmp_path)
    assert done.stdout == "1 []\n", done.stderr
    assert f"error[{code}]" in done.stderr and "not installed" in done.stderr
    assert done.stderr.endswith(f"  = help: {install_extra(extra)}\n")


def test_an_extra_is_installed_by_its_packages() -> None:
    """Their names alone work however energyc was installed; no release of energyc has to exist."""
    for extra in requirements().keys() - {"", "all", "dev"}:
        assert "energyc" not in install_extra(extra).partition(" install ")[2]
        assert install_extra(extra).count("'") == 2 * len(requirements()[extra])


def test_no_message_installs_energyc_by_a_name_that_no_index_may_have() -> None:
    """Neither ``pip install energyc[...]`` nor any other line by hand: ``energyc.extras`` composes all."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "energyc").rglob("*.py")}
    by_hand = [path for path, text in texts.items() if "pip install" in text and path.name != "extras.py"]
    assert by_hand == []


@pytest.mark.parametrize("command", OUTPUTS)
def test_an_output_that_cannot_be_written_is_refused_before_the_work(command: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    (tmp_path / "file").touch()
    done = in_python(WITHOUT.format(module="nothing", arguments=[*command.split(), "file/a/b.html"]), folder=tmp_path)
    assert done.stdout == "1 []\n", done.stderr
    message = f"cannot write file/a/b.html: {tmp_path / 'file'} is a file, not a folder"
    assert done.stderr == f"error[E0906]: {message}\n  = help: choose another path\n"
