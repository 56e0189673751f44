"""Commands whose optional libraries are missing: one message, at once, with a command that works here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from energyc.extras import install_extra, requirements

ROOT = Path(__file__).resolve().parents[2]

#: What a command needs that not every installation has: arguments, the module, its extra, the code of the error.
NEEDS = {
    "plot": (["plot", "no-run"], "matplotlib", "plots", "E0530"),
    "eval": (["eval", "no-run", "--bits", "4", "--picture", "x.png"], "matplotlib", "plots", "E0530"),
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


@pytest.mark.parametrize("case", NEEDS)
def test_a_missing_library_is_said_before_anything_heavy_is_imported(case: str) -> None:
    arguments, module, extra, code = NEEDS[case]
    program = WITHOUT.format(module=module, arguments=arguments)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "1 []\n", done.stderr
    assert f"error[{code}]" in done.stderr and "not installed" in done.stderr
    assert done.stderr.endswith(f"  = help: {install_extra(extra)}\n")


def test_an_extra_is_installed_by_its_packages() -> None:
    """Their names alone work however energyc was installed; no release of energyc has to exist."""
    for extra in {each.extra for each in requirements()} - {"", "all", "dev"}:
        assert "energyc" not in install_extra(extra).partition(" install ")[2]
        assert install_extra(extra).count("'") == 2 * len([each for each in requirements() if each.extra == extra])


def test_no_message_installs_energyc_by_a_name_that_no_index_may_have() -> None:
    """Neither ``pip install energyc[...]`` nor any other line by hand: ``energyc.extras`` composes all."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "energyc").rglob("*.py")}
    by_hand = [path for path, text in texts.items() if "pip install" in text and path.name != "extras.py"]
    assert by_hand == []
