"""The candidates that a TAB offers for a value: found without the parser, since a TAB waits for the answer.

Each function takes click's context, the parameter and the text so far. Names of settings and rules come from
grammar/names.json, and names of a spec from its statements; what cannot be read offers nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import click
from click.shell_completion import CompletionItem, split_arg_string

from energyc.resources import resource, shipped

Candidates = list[CompletionItem]
Completion = Callable[[click.Context, click.Parameter, str], Candidates]
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
    """Files, and the names of specs that ship, once a letter is known."""
    found = _starting(incomplete, shipped()) if incomplete else []
    return found or files(ctx, param, incomplete)


def _of_shell(kind: str) -> Completion:
    return lambda ctx, param, incomplete: [CompletionItem(incomplete, type=kind)]


#: Files, and folders, which the shell completes.
files, runs = _of_shell("file"), _of_shell("dir")


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
    return _starting(incomplete, (f"{name}=" for name in [*dict.fromkeys(own), *names()["settings"]]))


def rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> Candidates:
    """The learning rules."""
    return _starting(incomplete, names()["rules"])


def _among(*words: str) -> Completion:
    return lambda ctx, param, incomplete: _starting(incomplete, words)


#: The usual devices, and the loggers of energyc.
devices, loggers = _among("cpu", "cuda", "mps"), _among("tensorboard")


@cache
def names() -> Mapping[str, Sequence[str]]:
    """Return the names of ``rules`` and ``settings``, which ``make golden`` writes from their tables."""
    return json.loads(resource("grammar", "names.json").read_text(encoding="utf-8"))


def _spec_text(ctx: click.Context) -> str:
    """The text of the first spec or run among the words of the line, without comments.

    ``ctx.params`` has none while the value of an option is missing, which is what the TAB asks for.
    """
    for word in split_arg_string(os.environ.get("COMP_WORDS", "")):
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
