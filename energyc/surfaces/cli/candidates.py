"""The candidates that a TAB offers for a value: found without the parser, since a TAB waits for the answer.

Each function takes click's context, the parameter and the text so far. Names of settings and rules are read off the
sources that define them, and names of a spec off its statements; what cannot be read offers nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator

import click
from click.shell_completion import CompletionItem

from energyc.resources import shipped

Candidates = list[CompletionItem]
#: The modules that define the settings of a block, and in them the class of the block.
_BLOCKS = {"relax": ("phases", "Relax"), "nudge": ("phases", "Nudge"), "train": ("train", "TrainOptions")}
#: Bytes of a spec that are looked at.
_LONGEST = 200_000
_COMMENT = re.compile(r"#[^\n]*")
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}")
_PRESET = re.compile(r"\bpreset\s+([A-Za-z_]\w*)")
#: What stands behind ``dim`` or ``const``, to the end of the line that does not end in a comma.
_DEFINITIONS = re.compile(r"\b(?:dim|const)\b((?:[^\n]*,[ \t]*\n)*[^\n]*)")
#: A name whose value names nothing: one that is computed from others cannot be set.
_NAME = re.compile(r"(?:^|,)\s*([A-Za-z_]\w*)\s*=(?![^,]*(?<![\w.])[A-Za-z_])")


# ---------------------------------------------------------------- paths


def specs(ctx: click.Context, param: click.Parameter, incomplete: str) -> Candidates:
    """Specs, the folders on the way to them, and the names of those that ship, of which a letter is known."""
    return spec_files(ctx, param, incomplete) + _shipped(incomplete)


def spec_files(ctx: click.Context, param: click.Parameter, incomplete: str) -> Candidates:
    """Specs and the folders on the way to them."""
    return _paths(incomplete, lambda entry: entry.name.endswith(".energy"))


def runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> Candidates:
    """Run folders, and other folders on the way to them."""
    return _paths(incomplete, _is_run)


def specs_or_runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> Candidates:
    """Specs, run folders, and the names of specs that ship."""
    found = _paths(incomplete, lambda entry: entry.name.endswith(".energy") or _is_run(entry))
    return found + _shipped(incomplete)


def _shipped(incomplete: str) -> Candidates:
    return _starting(incomplete, shipped()) if incomplete else []


def paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> Candidates:
    """Any file or folder, also behind ``BINDING=``."""
    binding, equals, path = incomplete.rpartition("=")
    return [CompletionItem(binding + equals + item.value) for item in _paths(path, lambda entry: not entry.is_dir())]


def _is_run(entry: os.DirEntry[str]) -> bool:
    return any(os.path.exists(os.path.join(entry.path, name)) for name in ("run.json", "summary.json"))


def _paths(incomplete: str, wanted: Callable[[os.DirEntry[str]], bool]) -> Candidates:
    """Wanted entries of the folder that the text names, and the folders in it, which end in a slash."""
    folder, last = incomplete[: incomplete.rfind("/") + 1], incomplete[incomplete.rfind("/") + 1 :]
    found = []
    try:
        with os.scandir(os.path.expanduser(folder) or ".") as entries:
            for entry in entries:
                if entry.name.startswith(last) and (last or not entry.name.startswith(".")):
                    if wanted(entry):
                        found.append(folder + entry.name)
                    elif entry.is_dir():
                        found.append(f"{folder}{entry.name}/")
    except OSError:
        return []
    return [CompletionItem(value) for value in sorted(found)]


# ---------------------------------------------------------------- names


def presets(ctx: click.Context, param: click.Parameter, incomplete: str) -> Candidates:
    """The presets of the spec on the line."""
    return _starting(incomplete, _PRESET.findall(_spec_text(ctx)))


def settings(ctx: click.Context, param: click.Parameter, incomplete: str) -> Candidates:
    """The dims and consts of the spec on the line, and all settings."""
    text = _spec_text(ctx)
    while (shorter := _BRACKETS.sub("", text)) != text:
        text = shorter
    own = [name for names in _DEFINITIONS.findall(text) for name in _NAME.findall(names)]
    return _starting(incomplete, (f"{name}=" for name in [*dict.fromkeys(own), *setting_names()]))


def rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> Candidates:
    """The learning rules."""
    return _starting(incomplete, rule_names())


def devices(ctx: click.Context, param: click.Parameter, incomplete: str) -> Candidates:
    """The usual devices."""
    return _starting(incomplete, ("cpu", "cuda", "mps"))


def loggers(ctx: click.Context, param: click.Parameter, incomplete: str) -> Candidates:
    """The loggers of energyc."""
    return _starting(incomplete, ("tensorboard",))


def rule_names() -> list[str]:
    """The names of the learning rules: those of the files that define them."""
    folder = os.path.join(_package(), "runtime", "rules")
    stems = [name[:-3] for name in sorted(os.listdir(folder)) if name.endswith(".py") and not name.startswith("_")]
    return [stem.replace("_", "-") for stem in stems]


def setting_names() -> Iterator[str]:
    """The names of all settings, ``relax.step`` and so on: the fields of their blocks."""
    for block, (module, name) in _BLOCKS.items():
        with open(os.path.join(_package(), "language", "settings", f"{module}.py"), encoding="utf-8") as file:
            source = file.read().partition(f"class {name}:")[2].partition("\nclass ")[0]
        for field in re.findall(r"^    (\w+): [^=\n]+ = setting\(", source, re.MULTILINE):
            yield f"{block}.{field}"


def _package() -> str:
    return os.path.dirname(os.path.dirname(os.path.dirname(__file__)))


def _spec_text(ctx: click.Context) -> str:
    """The text of the first spec or run among the words of the line (``ctx.obj``), without comments.

    ``ctx.params`` has none while the value of an option is missing, which is what the TAB asks for.
    """
    for word in ctx.obj or ():
        path = os.path.expanduser(word)
        path = os.path.join(path, "spec.energy") if os.path.isdir(path) else str(shipped().get(path, path))
        if path.endswith(".energy") and os.path.isfile(path):  # a pipe would keep the TAB waiting
            try:
                with open(path, encoding="utf-8") as file:
                    return _COMMENT.sub("", file.read(_LONGEST))
            except (OSError, ValueError):
                continue
    return ""


def _starting(incomplete: str, names: Iterable[str]) -> Candidates:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
