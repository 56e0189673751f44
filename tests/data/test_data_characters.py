"""Characters: the fixed alphabets, windows that hold together, the split, texts of each kind of badness."""

from __future__ import annotations

import string
from pathlib import Path

import numpy as np
import pytest

from energyc.language.diagnostics import UserError
from energyc.running.data import find_adapter
from energyc.running.data.characters import ALPHABETS, Alphabet, shipped_text

SHAKESPEARE = Alphabet(ALPHABETS["shakespeare"])


def test_the_alphabets_are_tinyshakespeares_and_printable_ascii() -> None:
    assert SHAKESPEARE.symbols == "".join(sorted("\n !$&',-.3:;?" + string.ascii_letters))
    assert len(SHAKESPEARE) == 65
    ascii_ = ALPHABETS["ascii"]
    assert len(ascii_) == 96 and set(ascii_) == {"\n", *(c for c in string.printable if c.isprintable())}
    sizes = {name: find_adapter("characters").schema({"context": 4, "alphabet": name}).sizes for name in ALPHABETS}
    assert {name: size["vocabulary"] for name, size in sizes.items()} == {"shakespeare": 65, "ascii": 96}


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        (SHAKESPEARE.symbols, SHAKESPEARE.symbols),
        ("in 2024", "in 3333"),
        ('"so"\t(he) said', "'so' ,he  said"),
        ("caf\u00e9 \u00c5se \u2014 \u201cyes\u201d\u2026", "cafe Ase - 'yes'."),
        ("a_b\u4e2d\U0001f600/", "a-b   "),
    ],
)
def test_other_characters_become_the_nearest(text: str, becomes: str) -> None:
    assert SHAKESPEARE.decode(SHAKESPEARE.encode(text)) == becomes


def test_ascii_keeps_what_shakespeare_has_not() -> None:
    adapter = find_adapter("characters")
    options = {"context": 4, "alphabet": "ascii"}
    text = 'x[3] = {"a": 1}\n'
    assert adapter.decode(adapter.encode(text, options), options) == text
    assert adapter.decode(adapter.encode("no options: To be!")) == "no options: To be!"


def test_windows_are_the_text_and_the_target_is_one_on(tmp_path: Path) -> None:
    text = "".join(np.random.RandomState(0).choice(list("abcdef ."), 1000))
    path = tmp_path / "text.txt"
    path.write_text(text)
    dataset = find_adapter("characters").open({"context": 7}, str(path))
    train, test = dataset.split("train"), dataset.split("test")
    assert (len(train), len(test)) == (900 - 7, (100 - 1) // 7)
    batch = train.batch(np.arange(len(train)))
    for start in (0, 13, len(train) - 1):
        assert SHAKESPEARE.decode(batch["input"][start]) == text[start : start + 7]
        assert SHAKESPEARE.decode(batch["target"][start]) == text[start + 1 : start + 8]
    ahead = test.batch(np.arange(len(test)))["target"].reshape(-1)
    assert SHAKESPEARE.decode(ahead) == text[901 : 901 + len(ahead)]  # each character of the test once


def test_the_default_text_is_long_english_in_the_alphabet_and_repeats_no_paragraph() -> None:
    text = shipped_text()
    assert len(text) > 200_000
    assert text.count(" the ") > 2_000
    paragraphs = [part for part in text.split("\n\n") if part]
    assert len(paragraphs) == len(set(paragraphs))


def test_line_ends_marks_and_encodings(tmp_path: Path) -> None:
    adapter = find_adapter("characters")
    path = tmp_path / "text.txt"
    plain = "Some line\nAnd caf\u00e9.\n" * 40
    encodings = {"utf-8": plain, "utf-8-sig": plain, "latin-1": plain, "utf-8 ": plain.replace("\n", "\r\n")}
    for encoding, text in encodings.items():
        path.write_bytes(text.encode(encoding.strip()))
        ids = adapter.open({"context": 5}, str(path)).split("train").ids
        assert adapter.decode(ids).startswith("Some line\nAnd cafe.\nSome")


@pytest.mark.parametrize(
    ("data", "problem", "code"),
    [
        (None, "not found or not readable", "E0913"),
        (b"", "empty", "E0914"),
        (b"ab\0cd" * 100, "binary, not text", "E0914"),
        (b"too short", "only 9 characters; expected at least 90", "E0914"),
    ],
)
def test_a_bad_text_is_one_message(tmp_path: Path, data: bytes | None, problem: str, code: str) -> None:
    path = tmp_path / "text.txt"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(UserError) as raised:
        find_adapter("characters").open({"context": 8}, str(path))
    assert raised.value.message.startswith(f"{path}: {problem}")
    assert raised.value.code == code


def test_the_shortest_text_that_fits_has_one_test_window(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("x" * 90)
    dataset = find_adapter("characters").open({"context": 8}, str(path))
    assert len(dataset.split("test")) == 1
    assert dataset.split("test").batch(np.array([0]))["target"].shape == (1, 8)
