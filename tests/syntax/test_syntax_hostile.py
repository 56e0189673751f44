"""Texts that no one would write by hand: the answer is quick, one diagnostic, never a traceback."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from energyc.language.diagnostics import Source, SpecError, UserError, render_text, render_user_error
from energyc.language.syntax import decode, parse, read_source
from energyc.language.syntax.parser import DEEPEST


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize(
    "expression",
    [
        "(" * 5000 + "1" + ")" * 5000,
        "(" * 5000,
        "f(" * 5000,
        "a[" * 5000,
        "-" * 5000 + "1",
        "1" + "^1" * 5000,
        "1" + " + 1" * 5000,
    ],
    ids=["brackets", "open", "calls", "indices", "signs", "powers", "terms"],
)
def test_deep_nesting_is_one_diagnostic(expression: str) -> None:
    begin = time.process_time()
    with pytest.raises(SpecError) as caught:
        parse(Source("t", f"network n\nlet a = {expression}\n"))
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E0110"]
    assert time.process_time() - begin < 5


def test_nested_blocks_are_limited_too() -> None:
    text = "network n\n" + "layer a { " * 500 + "}" * 500
    with pytest.raises(SpecError) as caught:
        parse(Source("t", text))
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E0110"]


def test_what_is_allowed_needs_little_stack() -> None:
    text = "network n\nlet a = " + "f(" * (DEEPEST - 1) + "1" + ")" * (DEEPEST - 1)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        assert parse(Source("t", text)).statements
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("statement", ["network {}", "dim {} = 3", "let a = {}", "relax {{ {} = 1 }}"])
def test_a_name_of_300_letters_is_refused_once(statement: str) -> None:
    text = statement.format("n" * 300)
    with pytest.raises(SpecError) as caught:
        parse(Source("t", text if text.startswith("network") else f"network n\n{text}\nlet b = {'n' * 300}\n"))
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E0112"]


@pytest.mark.parametrize("number", ["9" * 5000, "1e400", "1e99999999999", "1/0", "1e-999999999"])
def test_numbers_out_of_range(number: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse(Source("t", f"network n\nrelax {{ step = {number} }}\n"))
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E0114"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"network n\n\xff\xfe", "t is not a text: byte 0xff at 2:1 is not UTF-8"),
        (b"network n\nlet a = \x00 1", "t is not a text: byte 0x00 at 2:9 is a NUL"),
        (b"\x7fELF\x02\x01\x01\x00", "t is not a text: byte 0x00 at 1:8 is a NUL"),
    ],
)
def test_what_is_not_text(data: bytes, message: str) -> None:
    with pytest.raises(UserError) as caught:
        decode(data, "t")
    assert (caught.value.code, caught.value.message) == ("E0111", message)


def test_a_path_that_is_not_utf8_can_be_read_and_shown(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.energy"))
    path.write_text("network n\nlet a =\n")
    source = read_source(path)
    with pytest.raises(SpecError) as caught:
        parse(source)
    assert "caf\\udce9.energy:2:8" in render_text(caught.value.diagnostics, source).encode().decode()
    path.unlink()
    with pytest.raises(UserError) as missing:
        read_source(path)
    assert "caf\\udce9.energy" in render_user_error(missing.value).encode().decode()


def test_a_huge_file_is_refused() -> None:
    with pytest.raises(UserError, match="larger than 2 MB"):
        decode(b"#" * 2_000_001, "t")


def test_files_that_cannot_be_read(tmp_path) -> None:
    with pytest.raises(UserError, match="there is no file"):
        read_source(tmp_path / "none.energy")
    with pytest.raises(UserError, match="is a folder"):
        read_source(tmp_path)
    with pytest.raises(UserError, match="cannot be read"):
        read_source("a\0b")


def test_a_suffix_that_was_left_out_is_suggested(tmp_path) -> None:
    (tmp_path / "net.energy").write_text("network net\n")
    with pytest.raises(UserError) as caught:
        read_source(tmp_path / "net")
    assert caught.value.help == f"did you mean {tmp_path / 'net.energy'}?"


def test_a_byte_order_mark_and_windows_line_ends(tmp_path) -> None:
    path = tmp_path / "net.energy"
    path.write_bytes(b"\xef\xbb\xbf# what it is\r\nnetwork net\r\ndim N = 3\r\n")
    spec = parse(read_source(path))
    assert (spec.name.text, spec.description) == ("net", "what it is")
