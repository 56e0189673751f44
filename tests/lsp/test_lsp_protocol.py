"""The real process over its protocol: everything that an editor asks, with mistakes put into a shipped spec."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest

from energyc.surfaces.lsp.analysis import WORKERS
from tests.lsp.client import Editor, Failed
from tests.lsp.texts import SPECS

THICK = (SPECS / "thick.energy").read_text(encoding="utf-8")
URI = "file:///project/thick.energy"
DOCUMENT = {"textDocument": {"uri": URI}}
EVERYWHERE = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}


def line_of(text: str, part: str) -> tuple[int, int]:
    """Line and column of a part of a text."""
    offset = text.index(part)
    return text.count("\n", 0, offset), offset - (text.rfind("\n", 0, offset) + 1)


@pytest.fixture
def editor(tmp_path: Path) -> Any:
    pytest.importorskip("pygls")
    with Editor(tmp_path, {"analysis": False}) as editor:
        yield editor


def test_what_the_server_offers(editor: Editor) -> None:
    offered = editor.server["capabilities"]
    for provider in (
        "completionProvider",
        "hoverProvider",
        "definitionProvider",
        "referencesProvider",
        "documentHighlightProvider",
        "documentSymbolProvider",
        "foldingRangeProvider",
        "semanticTokensProvider",
        "inlayHintProvider",
        "documentFormattingProvider",
        "codeActionProvider",
        "signatureHelpProvider",
        "renameProvider",
    ):
        assert offered[provider], provider
    assert offered["textDocumentSync"]["change"] == 2
    assert editor.server["serverInfo"]["name"] == "energyc"
    editor.request("shutdown")
    with pytest.raises(Failed) as late:
        editor.request("textDocument/hover", editor.at(URI, 1, 3))
    assert late.value.code == -32600


@pytest.mark.slow
def test_a_run_over_a_shipped_spec_with_mistakes(editor: Editor) -> None:
    """Each mistake is typed, reported, mended by its quick fix, and everything else is asked on the way."""
    editor.open(URI, THICK)
    assert editor.diagnostics(URI, 1) == []

    version = 1
    mistakes = (
        ("energy damping", "energi damping", "E0116"),
        ("W_head[d,w]", "W_haed[d,w]", "E0201"),
        ("gelu_tanh(sum", "gelu_tnah(sum", "E0206"),
        ("c/2 * sum", "c/2 sum", "E0103"),
        ("optimizer = adamw", "optimizer = adamww", "E0502"),
        ("text.vocabulary", "text.vocabulry", "E0602"),
    )
    for right, wrong, code in mistakes:
        line, column = line_of(THICK, right)
        spot = {"start": {"line": line, "character": column}, "end": {"line": line, "character": column + len(right)}}
        version += 1
        editor.change(URI, version, {"range": spot, "text": wrong})
        said = editor.diagnostics(URI, version)
        assert code in [each["code"] for each in said], right
        (error,) = [each for each in said if each["code"] == code]
        assert error["codeDescription"]["href"].endswith(f"{code}.md")
        assert error["severity"] == 1 and error["source"] == "energyc" and "help:" in error["message"]
        found = editor.request(
            "textDocument/codeAction", {**DOCUMENT, "range": error["range"], "context": {"diagnostics": [error]}}
        )
        fix = next(action for action in found if action["diagnostics"][0]["code"] == code)
        assert fix["kind"] == "quickfix"
        (edit,) = fix["edit"]["changes"][URI]
        version += 1
        editor.change(URI, version, {"range": edit["range"], "text": edit["newText"]})
        assert editor.diagnostics(URI, version) == [], right

    # everything that is asked of a good text
    line, column = line_of(THICK, "W_o[h,a,d] * sum")
    shown = editor.request("textDocument/hover", editor.at(URI, line, column))
    assert "param W_o[H, A, D]" in shown["contents"]["value"] and "4 x 32 x 128" in shown["contents"]["value"]
    assert "d(a.F)/dW_o[h,a,d] = " in shown["contents"]["value"]
    place = editor.request("textDocument/definition", editor.at(URI, line, column))
    declared = line_of(THICK, "W_o[H, A, D]")
    assert (place["range"]["start"]["line"], place["range"]["start"]["character"]) == declared
    context = {"includeDeclaration": True}
    assert len(editor.request("textDocument/references", editor.at(URI, line, column, context=context))) == 2
    assert len(editor.request("textDocument/documentHighlight", editor.at(URI, line, column))) == 2
    asked = editor.request("textDocument/prepareRename", editor.at(URI, line, column))
    assert asked["placeholder"] == "W_o"
    renamed = editor.request("textDocument/rename", editor.at(URI, line, column, newName="W_out"))
    assert [edit["newText"] for edit in renamed["changes"][URI]] == ["W_out", "W_out"]
    with pytest.raises(Failed, match="`W_k` is a param already"):
        editor.request("textDocument/rename", editor.at(URI, line, column, newName="W_k"))

    names = {symbol["name"] for symbol in editor.request("textDocument/documentSymbol", DOCUMENT)}
    assert {"T", "tok", "z", "attention", "ffn", "logits", "ce", "small"} <= names
    assert editor.request("textDocument/foldingRange", DOCUMENT)
    data = editor.request("textDocument/semanticTokens/full", DOCUMENT)["data"]
    assert len(data) % 5 == 0 and len(data) > 1000
    hints = editor.request("textDocument/inlayHint", {**DOCUMENT, "range": EVERYWHERE})
    assert " in T" in [hint["label"] for hint in hints] and " = 32" in [hint["label"] for hint in hints]

    line, column = line_of(THICK, "softmax[s | s <= t](")
    column += len("softmax[s | s <= t](")
    help = editor.request("textDocument/signatureHelp", editor.at(URI, line, column + 4))
    assert help["signatures"][0]["label"].startswith("sum[")
    line, column = line_of(THICK, "rule = tracking-aep")
    choices = editor.request("textDocument/completion", editor.at(URI, line, column + len("rule = track")))
    assert "tracking-aep" in [item["label"] for item in choices["items"]]
    options = {"options": {"tabSize": 2, "insertSpaces": True}}
    assert editor.request("textDocument/formatting", {**DOCUMENT, **options}) == []
    version += 1
    editor.change(URI, version, {"text": THICK.replace("let n1[t,d]  =", "let n1[t,d]=")})
    assert editor.request("textDocument/formatting", {**DOCUMENT, **options})

    with pytest.raises(Failed) as unknown:
        editor.request("textDocument/nonsense", {})
    assert unknown.value.code == -32601
    editor.notify("$/nonsense", {})
    assert editor.complaints == []
    assert editor.close() == 0


def test_related_places_are_told(editor: Editor) -> None:
    text = (
        "network n\ndim D = 4, E = 4\nparam W[D, E] ~ glorot\nstate z[D]\nenergy e = sum[d,k](z[d] * W[d,k] * z[k])\n"
    )
    editor.open(URI, text)
    (clash,) = editor.diagnostics(URI, 1)
    assert clash["code"] == "E0301"
    assert {each["message"] for each in clash["relatedInformation"]} >= {"declared with D here"}
    assert all(each["location"]["uri"] == URI for each in clash["relatedInformation"])


@pytest.mark.abridged
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32", None])
def test_positions_count_in_the_units_that_were_agreed_on(tmp_path: Path, encoding: str | None) -> None:
    pytest.importorskip("pygls")
    text = "# 𝛼 ß \u2028 one line\r\nnetwork n # 𝛼\r\ndim D = 2\r\nstate z[D]\r\nenergy e = sum[d](z[d]^2) # 𝛼𝛼\r\n"
    with Editor(tmp_path, {"analysis": False}, encoding) as editor:
        encoding = encoding or "utf-16"  # of an editor that offers none
        assert editor.server["capabilities"]["positionEncoding"] == encoding
        editor.open(URI, text)
        assert editor.diagnostics(URI, 1) == []
        size = {"utf-8": 4, "utf-16": 2, "utf-32": 1}[encoding]
        # behind the letter in the second line, put a broken statement; in the last line, behind two letters
        start = {"line": 1, "character": len("network n # ") + size}
        editor.change(URI, 2, {"range": {"start": start, "end": start}, "text": "\r\nstat y[D]"})
        (error,) = editor.diagnostics(URI, 2)
        assert error["range"] == {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 4}}
        change = {"range": {"start": start, "end": {"line": 2, "character": len("stat y[D]")}}, "text": ""}
        end = {"line": 4, "character": len("energy e = sum[d](z[d]^2) # ") + 2 * size}
        editor.change(URI, 3, change, {"range": {"start": end, "end": end}, "text": "\r\nenergy f = sum[d](y[d])"})
        (error,) = editor.diagnostics(URI, 3)
        assert error["code"] == "E0201"
        assert error["range"]["start"] == {"line": 5, "character": len("energy f = sum[d](")}
        assert editor.close() == 0


@pytest.mark.slow
def test_several_documents_are_told_apart(editor: Editor) -> None:
    other = "untitled:Untitled-1"
    editor.open(URI, THICK)
    editor.open(other, "network n\n", version=7)
    assert editor.diagnostics(URI, 1) == []
    assert [each["code"] for each in editor.diagnostics(other, 7)] == ["E0444"]
    editor.notify("textDocument/didClose", {"textDocument": {"uri": other}})
    assert editor.request("textDocument/hover", editor.at(other, 0, 3)) is None
    assert editor.request("textDocument/hover", editor.at(URI, 1, 3)) is not None
    # a closed document may still be written about by an editor that is late
    editor.change(other, 8, {"text": "network m\n"})
    assert editor.request("textDocument/documentSymbol", {"textDocument": {"uri": other}}) is None
    assert editor.complaints == []


@pytest.mark.slow
def test_hostile_texts_do_not_end_the_server(editor: Editor) -> None:
    texts = (
        "",
        "\0",
        "\ufeffnetwork n\n",
        "(" * 50_000,
        "network n\nlet a = " + "-" * 5_000 + "1\n",
        "network n\nlet a = " + " + ".join(["1"] * 3_000),
        "layer a {" * 2_000,
        "x" * 100_000,
        "# " + "é" * 100_000,
        "network n\n" * 2_000,
        "\ud800 network n",
        "x" * 3_000_000,
        "network n\nstate z\n" + "".join(f"let a{k} = b{k} + c{k}\n" for k in range(1_000)),
    )
    for version, text in enumerate(texts, 1):
        editor.open(URI, text, version)
        assert isinstance(editor.diagnostics(URI, version), list)
        for request in ("documentSymbol", "foldingRange", "semanticTokens/full"):
            editor.request(f"textDocument/{request}", DOCUMENT)
        for line, column in ((0, 0), (0, 10**9), (10**9, 0), (1, 5)):
            editor.request("textDocument/completion", editor.at(URI, line, column))
            editor.request("textDocument/hover", editor.at(URI, line, column))
    assert editor.complaints == []
    assert editor.close() == 0


@pytest.mark.slow
def test_a_request_can_be_taken_back(editor: Editor) -> None:
    editor.open(URI, THICK)
    numbers = [editor.ask("textDocument/hover", editor.at(URI, 12, 7)) for _ in range(20)]
    editor.notify("$/cancelRequest", {"id": numbers[-1]})
    for number in numbers:
        try:
            editor.answer(number)
        except Failed as failed:
            assert failed.code == -32800
    assert editor.close() == 0


@pytest.mark.slow
def test_an_editor_that_is_gone_ends_the_server(editor: Editor) -> None:
    assert editor.process.stdin is not None
    editor.process.stdin.close()
    assert editor.process.wait(30) == 1


def test_an_editor_that_is_gone_before_its_answer_ends_the_server() -> None:
    pytest.importorskip("pygls")
    started = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": None, "capabilities": {}}}
    body = json.dumps(started).encode()
    command = [sys.executable, "-m", "energyc", "lsp"]
    with Popen(command, cwd=SPECS.parent, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdout.close()
        process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        process.stdin.close()
        assert process.wait(60) == 1
        assert process.stderr.read() == b""


@pytest.mark.slow
def test_exit_without_shutdown_is_a_failure(editor: Editor) -> None:
    editor.notify("exit", None)
    assert editor.process.wait(30) == 1


@pytest.mark.slow
def test_saving_analyses_in_the_background(tmp_path: Path) -> None:
    """A force that a tie would make a gradient: the class is told, and a quick fix writes the tie."""
    pytest.importorskip("pygls")
    text = (
        "# Two weights.\nnetwork two\ndim D = 4, F = 8\nparam W1[D, F], W2[F, D] ~ normal(0.1), b[D] = 0\nstate z[D]\n"
        "energy leak = 1/2 * sum[d](z[d]^2)\n"
        "force net on z[d] = sum[f](W2[f,d] * tanh(sum[e](W1[e,f] * z[e]))) + b[d]\n"
        "cost c = sum[d]((z[d] - 1)^2)\ntrain { rule = ep }\n"
    )
    with Editor(tmp_path) as editor:
        editor.open(URI, text)
        editor.wait_for(lambda message: message["method"] == "workspace/inlayHint/refresh")
        said = {each["code"]: each["message"] for each in editor.diagnostics(URI, 1)}
        assert said["term"].startswith("force `net` is not conservative\nhelp: with `tie W2[f,d] = W1[d,f]`")
        assert "`ep` is biased on this network" in said["rule"]
        line, column = line_of(text, "net on z")
        shown = editor.request("textDocument/hover", editor.at(URI, line, column))
        assert "not conservative" in shown["contents"]["value"]
        spot = {"start": {"line": line, "character": column}, "end": {"line": line, "character": column}}
        found = editor.request("textDocument/codeAction", {**DOCUMENT, "range": spot, "context": {"diagnostics": []}})
        (tie,) = [action for action in found if "tie" in action["title"].lower()]
        editor.change(URI, 2, *({"range": e["range"], "text": e["newText"]} for e in tie["edit"]["changes"][URI]))
        assert editor.diagnostics(URI, 2) == []
        editor.unasked.clear()
        editor.notify("textDocument/didSave", DOCUMENT)
        editor.wait_for(lambda message: message["method"] == "workspace/inlayHint/refresh")
        assert editor.diagnostics(URI, 2) == []
        assert editor.complaints == []
        assert editor.close() == 0


def children_of(process: int) -> set[int]:
    """The processes that a process has started and that still run."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it has just ended
            continue
        if int(parent) == process and state != "Z":
            found.add(int(path.parent.name))
    return found


@pytest.mark.abridged
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize("end", ["change", "close", "shutdown"])
def test_an_analysis_that_is_no_longer_wanted_is_killed(tmp_path: Path, end: str) -> None:
    pytest.importorskip("pygls")

    def until(reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 30
        while not reached() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert reached()

    with Editor(tmp_path) as editor:
        editor.open(URI, (SPECS / "cem.energy").read_text(encoding="utf-8"))
        until(lambda: bool(children_of(editor.process.pid)))
        (child,) = children_of(editor.process.pid)
        match end:
            case "change":
                editor.change(URI, 2, {"text": "network n\n"})
            case "close":
                editor.notify("textDocument/didClose", DOCUMENT)
            case "shutdown":
                assert editor.close() == 0
        until(lambda: not Path(f"/proc/{child}").exists() or child not in children_of(editor.process.pid))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
def test_many_open_documents_are_analysed_a_few_at_a_time(tmp_path: Path) -> None:
    """Each has a report in the end; an editor that is gone takes those that are under way with it."""
    pytest.importorskip("pygls")
    text = "network n\ndim D = 2\nstate z[D]\nenergy e = sum[d](z[d]^2)\n"
    most, reports = 0, 0
    with Editor(tmp_path) as editor:
        for k in range(26):
            editor.open(f"file:///project/{k}.energy", f"# {k}\n{text}")
        while reports < 3:
            editor.request("textDocument/hover", editor.at("file:///project/0.energy", 0, 0))
            most = max(most, len(children_of(editor.process.pid)))
            reports = sum(message["method"] == "workspace/inlayHint/refresh" for message in editor.unasked)
            time.sleep(0.05)
        assert 0 < most <= WORKERS
        children = children_of(editor.process.pid)
        assert editor.process.stdin is not None
        editor.process.stdin.close()
        assert editor.process.wait(30) == 1
        time.sleep(0.2)
        assert not [child for child in children if alive(child)]


def alive(process: int) -> bool:
    """Whether a process still runs."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
