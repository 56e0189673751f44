"""Requests that no editor should send: each is answered or passed over, and the server goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lsp.client import Editor, Failed
from tests.lsp.texts import SMALL

URI = "file:///project/small.energy"
DOCUMENT = {"uri": URI}
HUGE = 10**30
#: What may stand where something else is wanted.
ODD: tuple[Any, ...] = (None, True, -1, HUGE, 1.5, "", "text", [], [None], {}, {"uri": None})
POSITIONS: tuple[Any, ...] = (
    *ODD,
    *({"line": line, "character": 0} for line in (-1, HUGE, 2**31, 1.5, "1", None, True, [])),
    *({"line": 0, "character": character} for character in (-1, HUGE, 2**31, -HUGE, 0.5, "x", None)),
    {"line": 3},
    {"character": 3},
    {"line": 999_999, "character": 999_999},
)
URIS: tuple[Any, ...] = (
    *ODD,
    "file:///nowhere.energy",
    "file:///" + "x" * 100_000,
    "not a uri",
    "file:///a%00b",
    "untitled:\ud800",
    "http://[::1",
    "\0",
)
AT_A_PLACE = ("hover", "definition", "references", "documentHighlight", "completion", "signatureHelp", "prepareRename")
OF_A_FILE = ("documentSymbol", "foldingRange", "semanticTokens/full", "formatting", "inlayHint", "codeAction", "rename")


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    pytest.importorskip("pygls")
    with Editor(tmp_path_factory.mktemp("editor"), {"analysis": False}) as editor:
        editor.open(URI, SMALL)
        yield editor


def lives(editor: Editor) -> None:
    """The server still answers, and has reported no error of its own."""
    shown = editor.request("textDocument/hover", editor.at(URI, 2, 4))
    assert "dim I" in shown["contents"]["value"]
    complaints = editor.complaints
    editor.unasked.clear()
    assert not [said for said in complaints if "internal error" in said]


def asked(editor: Editor, method: str, params: Any) -> Any:
    """The answer of a request, or the code of its error; every request has one or the other."""
    try:
        return editor.request(method, params)
    except Failed as failed:
        assert failed.message
        return failed.code


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("method", AT_A_PLACE)
def test_odd_positions(editor: Editor, method: str) -> None:
    for position in POSITIONS:
        asked(editor, f"textDocument/{method}", {"textDocument": DOCUMENT, "position": position, "context": {}})
    lives(editor)


@pytest.mark.parametrize("method", AT_A_PLACE + OF_A_FILE)
def test_odd_params(editor: Editor, method: str) -> None:
    for params in (*ODD, {"textDocument": None}, {"textDocument": 3}, {"textDocument": DOCUMENT}):
        asked(editor, f"textDocument/{method}", params)
    for uri in URIS:
        place = {"position": {"line": 0, "character": 0}, "newName": "q", "context": {"includeDeclaration": True}}
        asked(editor, f"textDocument/{method}", {"textDocument": {"uri": uri}, **place})
    lives(editor)


@pytest.mark.parametrize("method", ["inlayHint", "codeAction"])
def test_odd_ranges(editor: Editor, method: str) -> None:
    zero = {"line": 0, "character": 0}
    ranges = [*ODD, {"start": {"line": 5, "character": 5}, "end": zero}]
    ranges += [{"start": zero, "end": position} for position in POSITIONS]
    for given in ranges:
        for context in ({"diagnostics": []}, None, {"diagnostics": 3}, {"diagnostics": [], "only": [3, None]}):
            asked(editor, f"textDocument/{method}", {"textDocument": DOCUMENT, "range": given, "context": context})
    lives(editor)


def test_odd_names(editor: Editor) -> None:
    place = editor.at(URI, 2, 4)
    for name in ("", "a b", "1a", "a\nb", "\ud800", "x" * 100_000, "é", "in", "sum"):
        assert isinstance(asked(editor, "textDocument/rename", {**place, "newName": name}), int), name
    lives(editor)


def test_odd_changes(editor: Editor) -> None:
    """Those that cannot be read change nothing; those that lie outside of the text are cut to it."""
    other = "file:///project/other.energy"
    editor.open(other, SMALL)
    zero = {"line": 0, "character": 0}
    spots = [{"start": zero, "end": position} for position in POSITIONS]
    spots += [{"start": {"line": 9, "character": 9}, "end": zero}, None, 3, []]
    changes: list[Any] = [*ODD, *({"range": spot, "text": ""} for spot in spots), {"range": spots[0]}, {"text": 3}]
    for version, change in enumerate(changes, 2):
        document = {"uri": other, "version": version}
        for given in ([change], change):
            editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": given})
    for version in (None, "2", -1, HUGE, 1.5, []):
        document = {"uri": other, "version": version}
        editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": SMALL}]})
    for uri in URIS:
        editor.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 1}, "contentChanges": []})
    editor.change(other, 1000, {"text": SMALL})
    assert editor.diagnostics(other, 1000) == []
    editor.notify("textDocument/didClose", {"textDocument": {"uri": other}})
    lives(editor)


def test_notifications_out_of_order(editor: Editor) -> None:
    closed = {"textDocument": {"uri": "file:///project/closed.energy"}}
    for method in ("didClose", "didSave", "didClose"):
        editor.notify(f"textDocument/{method}", closed)
    editor.change(closed["textDocument"]["uri"], 3, {"text": "network n\n"})
    for method in OF_A_FILE:
        assert asked(editor, f"textDocument/{method}", closed) in (None, -32602), method
    for version in (5, 4, 4, -7):
        editor.open(closed["textDocument"]["uri"], "network n\n", version)
    assert editor.diagnostics(closed["textDocument"]["uri"], -7)
    editor.notify("textDocument/didClose", closed)
    editor.notify("textDocument/didSave", closed)
    editor.notify("initialized", {})
    asked(editor, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    lives(editor)


def test_odd_documents(editor: Editor) -> None:
    for uri in URIS:
        for method in ("didOpen", "didSave", "didClose"):
            item = {"uri": uri, "languageId": "energy", "version": 1, "text": "network n\n"}
            editor.notify(f"textDocument/{method}", {"textDocument": item})
    for odd in ODD:
        item = {"uri": "file:///odd", "languageId": odd, "version": odd, "text": odd}
        editor.notify("textDocument/didOpen", {"textDocument": item})
        editor.notify("textDocument/didClose", {"textDocument": {"uri": "file:///odd"}})
    lives(editor)


@pytest.mark.parametrize(
    "method",
    [
        "$/cancelRequest",
        "$/setTrace",
        "$/progress",
        "window/workDoneProgress/cancel",
        "workspace/didChangeConfiguration",
        "workspace/didChangeWatchedFiles",
        "workspace/didChangeWorkspaceFolders",
        "textDocument/willSave",
        "nonsense",
        "",
    ],
)
def test_odd_notifications(editor: Editor, method: str) -> None:
    for params in (*ODD, {"id": {}}, {"id": HUGE}, {"token": []}, {"event": 3}, {"value": "loud"}):
        editor.notify(method, params)
    lives(editor)


@pytest.mark.parametrize(
    "method", ["workspace/executeCommand", "textDocument/semanticTokens/full/delta", "a", "", "$/a"]
)
def test_unknown_requests_are_refused(editor: Editor, method: str) -> None:
    for params in ODD:
        assert isinstance(asked(editor, method, params), int)
    lives(editor)


def test_odd_messages(editor: Editor) -> None:
    """Bodies that are JSON and no request, and bodies that are not JSON."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover", "params": editor.at(URI, 0, 0)}
    bodies: list[Any] = [*ODD, [request], {"jsonrpc": "2.0"}, {"method": "textDocument/hover"}]
    bodies += [{**request, "jsonrpc": version} for version in (None, 2, "1.0", [])]
    bodies += [{**request, "method": method} for method in (None, 3, [], {}, "")]
    bodies += [{"jsonrpc": "2.0", "id": name, "result": None} for name in (None, 77, "x", [], {}, -1, HUGE)]
    bodies += [{"jsonrpc": "2.0", "id": 77, "error": error} for error in (None, 3, {}, {"code": "x"})]
    bodies += [{"jsonrpc": "2.0", "id": 77, "result": 1, "error": {"code": 1, "message": "both"}}]
    bodies += [{**request, "params": {"textDocument": request, "position": {"jsonrpc": "2.0", "id": 3, "method": 4}}}]
    for body in bodies:
        editor.send_raw(json.dumps(body).encode())
    nested = b"[" * 100_000 + b"]" * 100_000
    deep = b'{"jsonrpc": "2.0", "method": "a", "params": ' + b'{"a":' * 2_000 + b"1" + b"}" * 2_000 + b"}"
    number = b'{"jsonrpc": "2.0", "id": 1' + b"0" * 10_000 + b', "method": "a"}'
    odd = b'{"jsonrpc": "2.0", "method": "a", "params": NaN}'
    for raw in (b" ", b"\0", b"\xff\xfe", b"{", b'"', b'{"jsonrpc": }', nested, deep, number, odd):
        editor.send_raw(raw)
    lives(editor)


@pytest.mark.parametrize("number", [0, -1, HUGE, "", "x", 1.5, True, [], {}, "x" * 10_000])
def test_odd_numbers_of_requests(editor: Editor, number: Any) -> None:
    editor.send({"id": number, "method": "textDocument/hover", "params": editor.at(URI, 0, 0)})
    lives(editor)


@pytest.mark.parametrize(
    "head",
    [
        b"\r\n",
        b"nonsense\r\n\r\n",
        b"Content-Length: \r\n\r\n",
        b"Content-Length: many\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 0\r\n\r\n",
        b"Content-Length: 1e3\r\n\r\n",
        b"Content-Type: text/plain\r\n\r\n",
        b"\xff\xfe\r\n\r\n",
        b"Content-Length: 2\r\n\r\n{}",
    ],
)
def test_odd_headers(editor: Editor, head: bytes) -> None:
    assert editor.process.stdin is not None
    editor.process.stdin.write(head)
    editor.process.stdin.flush()
    lives(editor)
