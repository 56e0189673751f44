"""How a diagnostic looks, in text and in JSON."""

from __future__ import annotations

import pytest

from energyc.language.diagnostics import (
    Diagnostic,
    Label,
    Remedy,
    Source,
    Span,
    UserError,
    arithmetic,
    near,
    out_of_memory,
    render_text,
    render_user_error,
    summary,
    to_json,
    writing,
)


def span_of(source: Source, text: str) -> Span:
    start = source.text.index(text)
    return Span(start, start + len(text))


def rendered(source: Source, **parts) -> list[str]:
    return render_text([Diagnostic("E0100", "a message", **parts)], source).splitlines()


SOURCE = Source("net.energy", "network n\nstate z[N, D]\n\n\nlet q[n] = z[n, e]\n")


def test_message_place_line_and_caret() -> None:
    assert rendered(SOURCE, span=span_of(SOURCE, "z[n, e]"), text="here", help="do\nthat", notes=("so",)) == [
        "error[E0100]: a message",
        " --> net.energy:5:12",
        "  |",
        "5 | let q[n] = z[n, e]",
        "  |            ^^^^^^^ here",
        "  |",
        "  = note: so",
        "  = help: do",
        "          that",
    ]


def test_a_second_place_is_shown_with_its_label() -> None:
    labels = (Label(span_of(SOURCE, "D"), "D here"), Label(span_of(SOURCE, "q[n]"), "and here"))
    assert rendered(SOURCE, span=span_of(SOURCE, "e]"), labels=labels)[3:] == [
        "2 | state z[N, D]",
        "  |            - D here",
        "...",
        "5 | let q[n] = z[n, e]",
        "  |                 ^^",
        "  |     ---- and here",
    ]


def marked(text: str, part: str) -> str:
    """The characters of the shown line above the carets."""
    source = Source("t", text)
    line, marks = rendered(source, span=span_of(source, part))[3:5]
    return line[marks.index("^") : marks.rindex("^") + 1]


def test_carets_stand_under_tabs_and_control_characters() -> None:
    assert marked("\tlet\tq = here", "here") == "here"
    assert marked("let \x1b[31m q = here", "here") == "here"
    assert marked("let \u202e q = here", "here") == "here"
    assert marked("a here\r\nb", "here") == "here"


def test_wide_characters_take_two_cells() -> None:
    source = Source("t", "漢字 here")
    line, marks = rendered(source, span=span_of(source, "here"))[3:5]
    assert marks.index("^") == line.index("here") + 2


def test_no_control_character_is_printed() -> None:
    source = Source("\x1bname", "let \x1b[31m q")
    text = render_text([Diagnostic("E0100", "a \x1b[0m b", span_of(source, "q"), text="\x07")], source)
    assert not any(ord(character) < 32 and character != "\n" for character in text)


def test_a_long_line_is_shown_around_its_mark() -> None:
    text = "let a = " + "b + " * 300 + "here" + " + c" * 300
    assert marked(text, "here") == "here"
    assert all(len(line) < 160 for line in rendered(Source("t", text), span=span_of(Source("t", text), "here")))
    assert marked("x" * 5000, "x" * 5000).startswith("x")


def test_the_end_of_the_file_and_of_a_line_have_a_caret() -> None:
    source = Source("t", "network n\nlet a =")
    end = len(source.text)
    assert rendered(source, span=Span(end, end))[3:] == ["2 | let a =", "  |        ^"]
    assert rendered(Source("t", ""), span=Span(0, 0))[3:] == ["1 |", "  | ^"]


def test_a_span_over_lines_is_marked_on_its_first() -> None:
    source = Source("t", "let a = (b\n + c)")
    assert rendered(source, span=span_of(source, "(b\n + c)"))[3:] == ["1 | let a = (b", "  |         ^^"]


def test_color_changes_nothing_but_color() -> None:
    import re

    diagnostic = Diagnostic("W0100", "a message", span_of(SOURCE, "D"), "warning", "here", help="that")
    colored = render_text([diagnostic], SOURCE, color=True)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render_text([diagnostic], SOURCE)


def test_a_mistake_outside_a_spec() -> None:
    assert render_user_error(UserError("no file a", code="E0901", help="give one")) == (
        "error[E0901]: no file a\n  = help: give one"
    )


def test_a_lack_of_memory_and_a_failure_of_numbers_have_their_own_remedies() -> None:
    with pytest.raises(UserError) as caught, arithmetic("training"):
        raise OverflowError
    assert (caught.value.code, caught.value.help and caught.value.help[:18]) == ("E0515", "look for a setting")
    lacking = out_of_memory(MemoryError())
    assert (lacking.code, lacking.help and lacking.help[:16]) == ("E0916", "free some memory")


def test_summary_counts() -> None:
    error, warning = Diagnostic("E0100", "a"), Diagnostic("W0100", "b", severity="warning")
    assert summary([error, error, warning]) == "2 errors, 1 warning"
    assert summary([]) == ""


def test_json_has_the_keys_of_the_contract() -> None:
    labels = (Label(span_of(SOURCE, "D"), "D here"),)
    help = Remedy("h", writing("d", span_of(SOURCE, "D")))
    json = to_json(Diagnostic("E0301", "m", span_of(SOURCE, "e]"), labels=labels, help=help), SOURCE)
    assert json == {
        "code": "E0301",
        "severity": "error",
        "message": "m",
        "file": "net.energy",
        "line": 5,
        "column": 17,
        "end_line": 5,
        "end_column": 19,
        "text": "",
        "help": "h",
        "notes": [],
        "related": [
            {"message": "D here", "file": "net.energy", "line": 2, "column": 12, "end_line": 2, "end_column": 13}
        ],
        "fixes": [
            {
                "title": "write `d`",
                "edits": [
                    {"text": "d", "file": "net.energy", "line": 2, "column": 12, "end_line": 2, "end_column": 13}
                ],
            }
        ],
    }


def test_the_names_that_were_probably_meant() -> None:
    names = ["relax", "related", "nudge", "W1", "w2"]
    assert near("relx", names) == ["relax"]
    assert near("relaed", names, most=2) == ["related", "relax"]
    assert near("W2", names) == ["w2"]
    assert near("zzz", names) == []
