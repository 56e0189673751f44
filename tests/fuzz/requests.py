"""Requests to the language server: about places that are not there, of the wrong shape, while the text changes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.cases import Find
from tests.fuzz.mutations import mutant
from tests.lsp.client import Editor, Failed

METHODS = tuple(
    """
    completion hover signatureHelp definition references documentHighlight rename prepareRename documentSymbol
    foldingRange formatting codeAction inlayHint semanticTokens/full semanticTokens/range selectionRange
    """.split()
)
CONTEXTS: dict[str, dict[str, Any]] = {
    "completion": {"triggerKind": 1},
    "signatureHelp": {"triggerKind": 1, "isRetrigger": False},
}
#: The code of an error inside of the server. Others say what was wrong with the request.
INTERNAL = -32603
ODD: tuple[Any, ...] = (None, -1, 2**31, 2**63, 1.5, "", "z", [], {}, True, "\x00", "file:///nowhere.energy")
LONGEST = 40


def session(seed: int) -> Find | None:
    """A server of its own, and requests at random: each is answered, none by an internal error."""
    random = Random(seed)
    with tempfile.TemporaryDirectory() as folder, Editor(Path(folder)) as editor:
        texts = {f"file://{folder}/{name}.energy": mutant(random.randrange(2**31)) for name in "ab"}
        for uri, text in texts.items():
            editor.open(uri, text)
        for number in range(random.randint(5, LONGEST)):
            step = random.choice((_ask, _ask, _ask, _change, _nonsense))
            try:
                if found := step(editor, texts, random, number):
                    return found
            except AssertionError as error:
                return Find(f"server: {error}", "\n".join([*editor.complaints, json.dumps(texts)]))
        bad = [text for text in editor.complaints if "internal" in text.lower() or "Traceback" in text]
        return Find(f"server: {bad[0].splitlines()[-1][:200]}", "\n".join(bad)) if bad else None


def _ask(editor: Editor, texts: dict[str, str], random: Random, number: int) -> Find | None:
    """A request about a place, which may lie outside of the text, or be no place at all."""
    word = random.choice(METHODS)
    method, params = f"textDocument/{word}", _params(texts, random)
    params["context"] = CONTEXTS.get(word, {"diagnostics": [], "includeDeclaration": True})
    if random.random() < 0.3:
        _spoil(params, random)
    try:
        editor.request(method, params)
    except Failed as error:
        if error.code == INTERNAL:
            return Find(f"server: {method}: {error.message.splitlines()[-1][:200]}", json.dumps([method, params]))
    return None


def _params(texts: dict[str, str], random: Random) -> dict[str, Any]:
    uri = random.choice(list(texts))
    lines = texts[uri].split("\n")
    line = random.randrange(len(lines) + 2)
    column = random.randrange(len(lines[line]) + 3 if line < len(lines) else 5)
    here = {"line": line, "character": column}
    return {
        "textDocument": {"uri": uri},
        "position": here,
        "positions": [here],
        "range": {"start": here, "end": {"line": line + random.randint(0, 3), "character": random.randint(0, 40)}},
        "newName": random.choice(("q", "state", "1", "", "z z", "é")),
        "options": {"tabSize": 2, "insertSpaces": True},
    }


def _spoil(params: Any, random: Random) -> None:
    """One value somewhere in a request becomes another."""
    while isinstance(params, dict) and params:
        key = random.choice(list(params))
        if not isinstance(params[key], dict) or random.random() < 0.5:
            params[key] = random.choice(ODD)
            return
        params = params[key]


def _change(editor: Editor, texts: dict[str, str], random: Random, number: int) -> None:
    """A text as a whole becomes another one."""
    uri = random.choice(list(texts))
    texts[uri] = mutant(random.randrange(2**31))
    editor.change(uri, number + 2, {"text": texts[uri]})


def _nonsense(editor: Editor, texts: dict[str, str], random: Random, number: int) -> None:
    """A message that no protocol knows."""
    choices: tuple[Callable[[], None], ...] = (
        lambda: editor.notify("textDocument/unheardOf", {}),
        lambda: editor.notify("$/cancelRequest", {"id": random.choice((-5, "x", 10**9))}),
        lambda: editor.notify("textDocument/didClose", {"textDocument": {"uri": "file:///never.energy"}}),
        lambda: editor.send({"id": f"odd{number}", "method": random.choice(("", "a/b", "text/")), "params": {}}),
    )
    random.choice(choices)()
