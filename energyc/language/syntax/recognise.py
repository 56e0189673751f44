"""Syntax errors that are recognised by the words where the parser stopped: brackets, reserved words, foreign signs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from energyc.language.diagnostics import Diagnostic, Edit, Fix, Label, Remedy, Span, inserting, near, removing, writing
from energyc.language.syntax.failure import Failure
from energyc.language.syntax.foreign import counterpart, function_counterpart, sign_counterpart
from energyc.language.syntax.idioms import ALONG_AN_INDEX
from energyc.language.syntax.remedies import instead
from energyc.language.syntax.scan import BRACKETS, CLOSERS, STATEMENT_WORDS, Scanned

_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SIGNS = frozenset("()[]{}=+-*/^<>,.:|~'") | {"<=", ">=", "==", "!=", "**"}


def foreign_sign(failure: Failure) -> Diagnostic | None:
    """A character that the language does not have."""
    unexpected = failure.unexpected
    if unexpected is None or unexpected.kind != "sign" or unexpected.text in _SIGNS:
        return None
    text = failure.source.text
    end = unexpected.span.end
    while end < len(text) and unicodedata.category(unexpected.text).startswith("L") and text[end].isalpha():
        end += 1
    span = Span(unexpected.span.start, end)
    message = f"unexpected character `{text[span.start : span.end]}`"
    return Diagnostic("E0101", message, span, help=instead(sign_counterpart(unexpected.text), span))


def malformed_number(failure: Failure) -> Diagnostic | None:
    """``2x``, ``1.2.3``, ``1.``."""
    unexpected = failure.unexpected
    if unexpected is None or unexpected.kind != "number" or _NUMBER.fullmatch(unexpected.text):
        return None
    match = _NUMBER.match(unexpected.text)
    rest = unexpected.text[match.end() :] if match else unexpected.text
    help = "a number is written `2`, `0.5`, `.5` or `1e-3`"
    if match and rest.isidentifier():
        product = f"{match.group()} * {rest}"
        help = f"write `{product}` for a product; a name cannot start with a digit"
        help = Remedy(help, writing(product, unexpected.span))
    return Diagnostic("E0114", f"`{unexpected.text}` is not a number", unexpected.span, help=help)


def second_network(failure: Failure) -> Diagnostic | None:
    """A second ``network``, or one below other statements."""
    unexpected = failure.unexpected
    if unexpected is None or unexpected.text != "network" or failure.kind != "end":
        return None
    first = next((p for p in failure.pieces[: failure.at] if p.text == "network"), None)
    if first is None:
        help = "move this line to the top of the file"
        return Diagnostic("E0102", "`network` must be the first statement", unexpected.span, help=help)
    label = Label(first.span, "the first is here")
    help = "put the second network in a file of its own"
    return Diagnostic(
        "E0102", "a spec has one network", unexpected.span, text="a second one", labels=(label,), help=help
    )


def unpaired_bracket(failure: Failure) -> Diagnostic | None:
    """A bracket that is never closed, closed by another kind, or unmatched."""
    stack, unexpected = failure.open_brackets, failure.unexpected
    if unexpected is not None and unexpected.text in CLOSERS and failure.kind != "end":
        if not stack:
            message = f"unmatched `{unexpected.text}`"
            help = Remedy("remove it or open a bracket", removing(unexpected.text, unexpected.span))
            return Diagnostic("E0108", message, unexpected.span, help=help)
        if BRACKETS[stack[-1].text] == unexpected.text:
            return None
        label = Label(stack[-1].span, "opened here")
        wanted = BRACKETS[stack[-1].text]
        message = f"mismatched brackets: `{stack[-1].text}` is closed with `{unexpected.text}`"
        return Diagnostic("E0108", message, unexpected.span, text=f"expected `{wanted}` before this", labels=(label,))
    opener = stack[-1] if stack else None if unexpected is not None else failure.open_block
    return _never_closed(failure, opener) if failure.kind == "end" and opener else None


def _never_closed(failure: Failure, opener: Scanned) -> Diagnostic:
    place = "the file ends here" if failure.unexpected is None else "the statement ends here"
    labels = () if failure.before is opener else (Label(failure.span, place),)
    closer = BRACKETS[opener.text]
    help = Remedy(f"write `{closer}` where it ends", inserting(closer, failure.span.start))
    return Diagnostic("E0108", "this bracket is never closed", opener.span, labels=labels, help=help)


def missing_operand(failure: Failure) -> Diagnostic | None:
    """An equation that ends after an operator, an opening bracket or the ``=``."""
    if failure.kind != "end" or failure.before is None or not {"NUMBER", "NAME", "LPAR"} <= failure.expected:
        return None
    message = f"expected an expression after `{failure.before.text}`"
    return Diagnostic("E0113", message, failure.span, text="expected an expression here")


def missing_name(failure: Failure) -> Diagnostic | None:
    """A statement that ends where a name is expected."""
    if failure.kind != "end" or failure.before is None or "NAME" not in failure.expected:
        return None
    message = f"expected a name after `{failure.before.text}`"
    help = "a name starts with a letter or `_` and contains letters, digits and `_`"
    return Diagnostic("E0117", message, failure.span, text="expected a name here", help=help)


def reserved_name(failure: Failure) -> Diagnostic | None:
    """A reserved word where a name is expected."""
    unexpected = failure.unexpected
    if unexpected is None or failure.kind != "reserved" or not {"NAME", "KEY", "WORD"} & failure.expected:
        return None
    if unexpected.text in ("and", "or") and "NUMBER" in failure.expected:
        return None
    return Diagnostic(
        "E0109",
        f"`{unexpected.text}` is a reserved word and cannot be a name",
        unexpected.span,
        help=_instead_of_reserved(failure, unexpected.text),
    )


def _instead_of_reserved(failure: Failure, word: str) -> str:
    called = failure.after is not None and failure.after.text == "("
    return (function_counterpart(word) if called else None) or f"choose another name, such as `{word}_`"


def no_statement(failure: Failure) -> Diagnostic | None:
    """A line whose first word starts no statement."""
    unexpected = failure.unexpected
    if unexpected is None or failure.kind != "word" or failure.open_brackets:
        return None
    if not unexpected.first and {"NAME", "NUMBER"} & failure.expected:
        return None
    meant, translated = near(unexpected.text, sorted(STATEMENT_WORDS)), counterpart("statements", unexpected.text)
    equation = _equals_on_line(failure)
    names_something = failure.after is not None and failure.after.kind == "word"
    begins = equation or failure.before is None or failure.before.text in "{}"
    if not unexpected.first or not (meant or begins or (translated and names_something)):
        return None
    if translated and names_something:
        help = instead(translated, unexpected.span)
    elif meant and names_something:
        help = Remedy(f"did you mean `{meant[0]}`?", writing(meant[0], unexpected.span))
    elif equation:
        let = f"let {unexpected.text}"
        help = Remedy(
            f"write `{let}` for a quantity, or `energy`, `force`, `readout`, `cost`, ... for what it is",
            writing(let, unexpected.span),
        )
    else:
        help = "a statement starts with `dim`, `const`, `param`, `state`, `let`, `energy`, `cost`, ..."
    return Diagnostic("E0116", f"no statement starts with `{unexpected.text}`", unexpected.span, help=help)


def _equals_on_line(failure: Failure) -> bool:
    for piece in failure.pieces[failure.at + 1 :]:
        if piece.first:
            return False
        if piece.text == "=":
            return True
    return False


def sum_without_brackets(failure: Failure) -> Diagnostic | None:
    """``sum d (...)``: a reduction without its bracket."""
    before, unexpected = failure.before, failure.unexpected
    if (
        before is None
        or unexpected is None
        or before.text not in ALONG_AN_INDEX
        or failure.kind not in ("word", "number", "^")
    ):
        return None
    help = f"write `{before.text}[{unexpected.text if unexpected.kind == 'word' else 'd'}](...)`"
    if unexpected.kind == "word" and failure.after is not None and failure.after.text == "(":
        index = Edit(Span(before.span.end, failure.after.span.start), f"[{unexpected.text}]")
        help = Remedy(help, Fix(f"write `{before.text}[{unexpected.text}](...)`", (index,)))
    message = f"`{before.text}` names the indices it runs over in square brackets"
    return Diagnostic("E0105", message, unexpected.span, text="expected `[` before this", help=help)


def missing_comma(failure: Failure) -> Diagnostic | None:
    """Two items of a list without a comma: indices in a bracket, definitions on a line."""
    before, unexpected, after = failure.before, failure.unexpected, failure.after
    if before is None or unexpected is None or failure.kind not in ("word", "number"):
        return None
    if {"NAME", "KEY", "NUMBER"} & failure.expected or "_COMMA" not in failure.expected:
        return None
    word = failure.pieces[failure.start].text
    innermost = failure.open_brackets[-1].text if failure.open_brackets else ""
    in_index = innermost == "[" and before.kind == "word" and not failure.in_settings
    next_item = not failure.open_brackets and word in ("dim", "const", "param", "clamp", "target", "state")
    if not in_index and not (next_item and after is not None and after.text in ("=", "[", ":", "~")):
        return None
    what = "the indices in a bracket" if in_index else f"the items of a `{word}` statement"
    return Diagnostic(
        "E0119",
        f"{what} are separated by commas",
        unexpected.span,
        text="expected `,` before this",
        help=Remedy("write `,` between them", inserting(",", before.span.end)),
    )


RECOGNISERS: tuple[Callable[[Failure], Diagnostic | None], ...] = (
    foreign_sign,
    malformed_number,
    second_network,
    unpaired_bracket,
    missing_operand,
    missing_name,
    reserved_name,
    no_statement,
    sum_without_brackets,
    missing_comma,
)
