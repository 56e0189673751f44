"""The files for Vim, Neovim, Emacs and Zed: their words are those of the language, and the editors colour with them."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from energyc.highlight import LOGIC, SPECIAL
from energyc.language.resolve.words import LANGUAGE_FUNCTIONS, LAWS, SETS
from energyc.language.syntax.scan import DECLARATION_WORDS, EQUATION_WORDS, SETTINGS_WORDS
from energyc.version import __version__
from tests.editors.words import INSIDE, OTHERS, one_of

ROOT = Path(__file__).resolve().parents[2]
EDITORS = ROOT / "editors"
#: A line of each file by its beginning: what follows it.
LINES = {
    "vim/syntax/energy.vim": {
        "syntax keyword energyDeclaration": one_of(DECLARATION_WORDS, " "),
        "syntax keyword energyEquation nextgroup=energyTitle skipwhite": one_of(EQUATION_WORDS, " "),
        "syntax keyword energyStatement": one_of(OTHERS - SETTINGS_WORDS - {"preset"}, " "),
        "syntax keyword energyInside": one_of(INSIDE, " "),
        "syntax keyword energyLogic": one_of(LOGIC, " "),
        "syntax keyword energySet": one_of(SETS, " "),
        "syntax keyword energySpecial": one_of(SPECIAL, " "),
        "syntax match energyFunction": rf"/\<\%({one_of(LANGUAGE_FUNCTIONS, chr(92) + '|')}\)\ze'\?\s*[[(]/",
        "syntax match energyLaw": rf"/\%(\~\s*\)\@<=\%({one_of(LAWS, chr(92) + '|')}\)\>/",
        "syntax region energySettings matchgroup=energyBlock start=": (
            rf"/\<\%({one_of(SETTINGS_WORDS, chr(92) + '|')}\)\s*\%(\h\w*\s\+in\s\+\h\w*\s*\)\?{{/"
            " end=/}/ contains=@energyPairs"
        ),
    },
    "emacs/energy-mode.el": {
        f"(defconst energy-{name}": "'(" + " ".join(f'"{word}"' for word in sorted(words)) + "))"
        for name, words in {
            "declarations": DECLARATION_WORDS,
            "equations": EQUATION_WORDS,
            "statements": OTHERS,
            "inside": {*INSIDE, *LOGIC},
            "functions": LANGUAGE_FUNCTIONS,
            "laws-and-sets": {*LAWS, *SETS},
        }.items()
    },
}


@pytest.mark.parametrize("name", LINES)
def test_the_words_are_those_of_the_language(name: str, update_golden: bool) -> None:
    """With ``--update-golden`` they are written into the file; the first line with a beginning is meant."""
    path = EDITORS / name
    lines = path.read_text(encoding="utf-8").splitlines()
    for beginning, rest in LINES[name].items():
        number = next(number for number, line in enumerate(lines) if line.startswith(beginning))
        wanted = beginning + ("" if beginning.endswith("=") else " ") + rest
        if update_golden:
            lines[number] = wanted
        assert lines[number] == wanted
    if update_golden:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


SPEC = """\
network n  # energy
param W[D] ~ normal(0.1)
state z[D] in sphere[D]
energy pull = 1/2 * sum[d](z[d]^2)
train { rule = tracking-aep, lr = 1e-3 }
"""
#: The group in Vim and the face in Emacs of a word of the spec: line, column (both from 1), group, face.
COLOURS = [
    (1, 1, "energyStatement", "font-lock-keyword-face"),
    (1, 14, "energyComment", "font-lock-comment-face"),
    (2, 1, "energyDeclaration", "font-lock-type-face"),
    (2, 14, "energyLaw", "font-lock-constant-face"),
    (2, 21, "energyNumber", "nil"),
    (3, 12, "energyInside", "font-lock-keyword-face"),
    (3, 15, "energySet", "font-lock-constant-face"),
    (4, 1, "energyEquation", "font-lock-keyword-face"),
    (4, 8, "energyTitle", "font-lock-function-name-face"),
    (4, 21, "energyFunction", "font-lock-builtin-face"),
    (5, 1, "energyBlock", "font-lock-keyword-face"),
    (5, 9, "energyKey", "font-lock-variable-name-face"),
    (5, 16, "energyChoice", "nil"),
]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "n.energy"
    path.write_text(SPEC)
    return path


def test_neovim_colours_a_spec(spec: Path, tmp_path: Path) -> None:
    if shutil.which("nvim") is None:
        pytest.skip("there is no Neovim here")
    asked = "\n".join(f"call add(found, synIDattr(synID({line}, {column}, 0), 'name'))" for line, column, *_ in COLOURS)
    script = tmp_path / "ask.vim"
    script.write_text(f"let found = [&filetype, &commentstring]\n{asked}\ncall writefile(found, 'found.txt')\nqall!\n")
    start = ["--cmd", f"set runtimepath^={EDITORS / 'vim'}", "-c", "syntax on", "-c", f"source {script}"]
    command = ["nvim", "--headless", "-n", "-i", "NONE", "-u", "NORC", *start, str(spec)]
    subprocess.run(command, cwd=tmp_path, timeout=60, capture_output=True, stdin=subprocess.DEVNULL)
    assert (tmp_path / "found.txt").read_text().splitlines() == ["energy", "# %s", *(group for *_, group, _ in COLOURS)]


def test_emacs_colours_a_spec(spec: Path) -> None:
    if shutil.which("emacs") is None:
        pytest.skip("there is no Emacs here")
    asked = " ".join(
        f"(progn (goto-char (point-min)) (forward-line {line - 1}) (forward-char {column - 1})"
        f' (princ (format "%s\\n" (get-text-property (point) (quote face)))))'
        for line, column, *_ in COLOURS
    )
    code = f'(progn (find-file "{spec}") (princ (format "%s\\n" major-mode)) (font-lock-ensure) {asked})'
    command = ["emacs", "--batch", "-Q", "-l", str(EDITORS / "emacs" / "energy-mode.el"), "--eval", code]
    done = subprocess.run(command, timeout=60, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.stdout.splitlines() == ["energy-mode", *(face for *_, face in COLOURS)], done.stderr


def test_the_extension_for_zed_is_of_this_version() -> None:
    extension = tomllib.loads((EDITORS / "zed" / "extension.toml").read_text())
    cargo = tomllib.loads((EDITORS / "zed" / "Cargo.toml").read_text())
    language = tomllib.loads((EDITORS / "zed" / "languages" / "energy" / "config.toml").read_text())
    assert extension["version"] == cargo["package"]["version"] == __version__
    assert extension["language_servers"]["energyc"]["languages"] == [language["name"]]
