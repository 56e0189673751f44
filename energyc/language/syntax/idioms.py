"""Notations of Python, NumPy, PyTorch and LaTeX where the parser stopped, each with the way to write it here."""

from __future__ import annotations

import re
from collections.abc import Callable

from energyc.language.diagnostics import Diagnostic, Remedy, inserting, writing
from energyc.language.syntax.failure import Failure
from energyc.language.syntax.foreign import function_counterpart, is_module
from energyc.language.syntax.scan import OPENERS, Scanned

CODE = "E0127"
ALONG_AN_INDEX = frozenset({"sum", "mean", "max", "min", "variance", "logsumexp", "softmax", "layernorm", "rmsnorm"})


def _idiom(failure: Failure, message: str, help: str, start: Scanned | None = None) -> Diagnostic:
    """The diagnostic of an idiom that begins at ``start``, or where the parser stopped."""
    span = failure.span if start is None else start.span.to(failure.span)
    return Diagnostic(CODE, message, span, help=help)


def _text(failure: Failure, distance: int) -> str:
    """The word or sign at a distance from where the parser stopped; empty outside the text."""
    place = failure.at + distance
    return failure.pieces[place].text if 0 <= place < len(failure.pieces) else ""


def _behind(failure: Failure, piece: Scanned) -> str:
    """The text from behind an open bracket to where the parser stopped."""
    return failure.source.text[piece.span.end : failure.span.start].strip()


def module_or_method(failure: Failure) -> Diagnostic | None:
    """``np.sum(...)``, ``s.pow(2)``: a call behind a dot."""
    if _text(failure, 0) not in ("(", ".") or _text(failure, -2) != ".":
        return None
    owner, name = _text(failure, -3), _text(failure, -1)
    start = failure.pieces[max(failure.at - 3, 0)]
    help = function_counterpart(name) or f"write `{name}{'[j](...)' if name in ALONG_AN_INDEX else '(u)'}`"
    if is_module(owner):
        return _idiom(failure, f"functions have no module before them, as in `{owner}.`", help, start)
    help = re.sub(r"\bu\b", f"{owner}[j]", help) if owner.isidentifier() else help
    return _idiom(failure, f"there are no methods such as `.{name}(...)`", help, start)


def quoted_call(failure: Failure) -> Diagnostic | None:
    """``einsum('ij,j->i', W, z)``."""
    if _text(failure, 0) not in ("'", '"') or _text(failure, -1) != "(":
        return None
    help = function_counterpart(_text(failure, -2))
    if help is None:
        return None
    start = failure.pieces[failure.at - 2]
    return _idiom(failure, f"there is no function `{start.text}`", help, start)


def path_of_data(failure: Failure) -> Diagnostic | None:
    """``data digits = digits("data/mnist")``."""
    if _text(failure, 0) not in ("'", '"') or failure.pieces[failure.start].text != "data":
        return None
    name = failure.pieces[failure.start + 1].text
    help = f"give the place of the data where it is trained: `--data {name}=PATH`, or `data=` in Python"
    return _idiom(failure, "a spec names no files", help)


def indexed_call(failure: Failure) -> Diagnostic | None:
    """``one_hot(label, K)[k]``, ``softmax[k](y[k])[k]``."""
    if _text(failure, 0) != "[" or _text(failure, -1) != ")":
        return None
    opener = _opener_of(failure, failure.at - 1)
    name = _called(failure, opener)
    help = function_counterpart(name.text) if name is not None else None
    if help is None and name is not None and failure.pieces[opener - 1].text == "]":
        help = "the call has its indices in its own bracket: remove these"
    elif help is None and name is not None and name.text in ALONG_AN_INDEX:
        help = f"the index belongs to the function: `{name.text}[{_text(failure, 1)}](...)`"
    help = help or "the index belongs to the arguments: `f(z[d])`"
    return _idiom(failure, "the value of a call takes no index", help)


def _opener_of(failure: Failure, closer: int) -> int:
    """The place of the bracket that a closing one pairs with."""
    depth = 0
    for place in range(closer, -1, -1):
        text = failure.pieces[place].text
        depth += (text in (")", "]", "}")) - (text in OPENERS)
        if depth == 0:
            return place
    return closer


def _called(failure: Failure, opener: int) -> Scanned | None:
    """The name of the function whose arguments open at a place."""
    place = opener - 1
    if place > 0 and failure.pieces[place].text == "]":
        place = _opener_of(failure, place) - 1
    return failure.pieces[place] if place >= 0 and failure.pieces[place].kind == "word" else None


def chained_brackets(failure: Failure) -> Diagnostic | None:
    """``W[i][j]``."""
    if _text(failure, 0) != "[" or _text(failure, -1) != "]":
        return None
    opener = failure.pieces[_opener_of(failure, failure.at - 1)]
    first = failure.source.text[opener.span.end : failure.pieces[failure.at - 1].span.start]
    seam = failure.pieces[failure.at - 1].span.to(failure.span)
    help = Remedy(f"write `[{first},{_text(failure, 1)}]`", writing(",", seam))
    return _idiom(failure, "the indices of an element share one bracket", help)


def sum_without_parentheses(failure: Failure) -> Diagnostic | None:
    """``sum[j] s[j]^2``, ``sum_j s_j``."""
    if failure.kind != "word" or failure.before is None or "NAME" in failure.expected:
        return None
    by_underscore = function_counterpart(failure.before.text) if "_" in failure.before.text else None
    name = _called(failure, failure.at) if failure.before.text == "]" else None
    if by_underscore is not None:
        return _idiom(failure, "a sum has its indices and its terms in brackets", by_underscore, failure.before)
    if name is None or name.text not in ALONG_AN_INDEX:
        return None
    indices = failure.source.text[name.span.end : failure.before.span.end]
    help = f"write `{name.text}{indices}(...)`"
    return _idiom(failure, f"the argument of `{name.text}` is in parentheses", help)


def conditional(failure: Failure) -> Diagnostic | None:
    """``a if c else b``."""
    if _text(failure, 0) != "if" or "NAME" in failure.expected:
        return None
    help = function_counterpart("if") or ""
    return _idiom(failure, "there is no conditional expression `a if c else b`", help)


def lambda_function(failure: Failure) -> Diagnostic | None:
    """``let f = lambda u: u^2``."""
    if _text(failure, -1) != "lambda":
        return None
    return _idiom(failure, "a function is declared with `fn`", "write `fn f(u) = ...`", failure.before)


def keyword_dim(failure: Failure) -> Diagnostic | None:
    """``softmax(y, dim=-1)``."""
    if _text(failure, 0) != "dim" or _text(failure, 1) != "=" or not failure.open_brackets:
        return None
    name = _called(failure, failure.pieces.index(failure.open_brackets[-1]))
    help = f"write the index in a bracket: `{name.text if name else 'softmax'}[k](...)`"
    return _idiom(failure, "an axis is not given by `dim =`", help)


def comprehension(failure: Failure) -> Diagnostic | None:
    """``sum(s[j]^2 for j in J)``."""
    if _text(failure, 0) != "for" or not failure.open_brackets:
        return None
    index, body = _text(failure, 1) or "j", _behind(failure, failure.open_brackets[-1])
    dim = _text(failure, 5) if _text(failure, 3) == "range" else _text(failure, 3)
    bracket = f"{index} in {dim}" if _text(failure, 2) == "in" else index
    return _idiom(failure, "a sum names its index in a bracket, not with `for`", f"write `sum[{bracket}]({body})`")


def guard_by_if(failure: Failure) -> Diagnostic | None:
    """``sum[i,j if i < j](...)``."""
    if _text(failure, 0) != "if" or not failure.open_brackets or failure.open_brackets[-1].text != "[":
        return None
    opener = failure.open_brackets[-1]
    name = _text(failure, failure.pieces.index(opener) - failure.at - 1)
    help = f"write `{name}[{_behind(failure, opener)} | ...]`"
    return _idiom(failure, "a guard follows a bar, not `if`", help)


def slice_of_axis(failure: Failure) -> Diagnostic | None:
    """``y[0:5]``, ``y[:, 0]``."""
    if _text(failure, 0) != ":" or not failure.open_brackets or failure.open_brackets[-1].text != "[":
        return None
    help = "name the part with a dim of its own, `let part[i in P] = y[i + 3]`, or sum over it, `sum[k | k < 5](y[k])`"
    return _idiom(failure, "there are no slices", help)


def floor_division(failure: Failure) -> Diagnostic | None:
    """``I // 2``."""
    if _text(failure, 0) != "/" or _text(failure, -1) != "/" or failure.pieces[failure.at - 1].first:
        return None
    help: str = "write `/`, which must be exact in a dim; a comment starts with `#`"
    help = Remedy(help, writing("/", failure.pieces[failure.at - 1].span.to(failure.span)))
    return _idiom(failure, "there is no operator `//`", help, failure.before)


def augmented_assignment(failure: Failure) -> Diagnostic | None:
    """``energy leak += ...``."""
    unexpected = failure.unexpected
    touching = unexpected is not None and failure.after is not None and unexpected.span.end == failure.after.span.start
    if not touching or _text(failure, 0) not in ("+", "-", "*", "/") or _text(failure, 1) != "=":
        return None
    assert unexpected is not None and failure.after is not None
    help = "all energies and forces are added: give this one its own name and write `=`"
    help = Remedy(help, writing("=", unexpected.span.to(failure.after.span)))
    return _idiom(failure, f"there is no `{_text(failure, 0)}=`", help)


def time_derivative(failure: Failure) -> Diagnostic | None:
    """``ds/dt = -s[j]``."""
    head, tail = _text(failure, 0), _text(failure, 2)
    if failure.unexpected is None or not failure.unexpected.first or not re.fullmatch(r"d[A-Za-z]\w*", head):
        return None
    if _text(failure, 1) != "/" or tail != "dt":
        return None
    help = f"write `force f on {head[1:]}[...] = ...`, or the energy whose negative gradient it is"
    return _idiom(failure, "a motion is not written as a time derivative", help)


def index_range(failure: Failure) -> Diagnostic | None:
    """``sum[j=0..31](...)``, ``sum[j in 32](...)``, ``sum_{j}``."""
    bracket = failure.open_brackets[-1].text if failure.open_brackets else ""
    if bracket == "[" and _text(failure, 0) == "=" and _text(failure, -2) in ("[", ","):
        index = _text(failure, -1)
        return _idiom(failure, "an index runs over a dim, not a range", f"write `{index} in J` with `dim J = ...`")
    if bracket == "[" and failure.kind == "number" and _text(failure, -1) == "in":
        help = f"declare `dim N = {_text(failure, 0)}` and write `{_text(failure, -2)} in N`"
        return _idiom(failure, "an index runs over a dim, not a number", help)
    if _text(failure, 0) == "{" and re.fullmatch(r"(sum|prod|max|min|mean)_?", _text(failure, -1)):
        name, index = _text(failure, -1).rstrip("_"), _text(failure, 1)
        return _idiom(failure, "indices are in square brackets", f"write `{name}[{index}](...)`", failure.before)
    return None


def network_name(failure: Failure) -> Diagnostic | None:
    """``network little-net``, ``network little {``, ``network little:``."""
    if _text(failure, -2) != "network" or _text(failure, 0) not in ("-", "{", ":", "."):
        return None
    name = _text(failure, -1)
    if _text(failure, 0) in ("-", "."):
        help = f"a name contains letters, digits and `_`: `{name}_{_text(failure, 1)}`"
        help = Remedy(help, writing("_", failure.span))
        return _idiom(failure, f"`{_text(failure, 0)}` cannot be part of a name", help)
    help = f"the file is the network: write `network {name}` alone"
    return _idiom(failure, "a network has no braces and no colon", help)


def box_without_comma(failure: Failure) -> Diagnostic | None:
    """``in [0 1]``."""
    if failure.kind not in ("number", "word") or not failure.open_brackets:
        return None
    opener = failure.open_brackets[-1]
    if opener.text != "[" or _text(failure, failure.pieces.index(opener) - failure.at - 1) != "in":
        return None
    help = f"write `in [{_behind(failure, opener)}, {_text(failure, 0)}]`"
    help = Remedy(help, inserting(",", failure.before.span.end if failure.before else failure.span.start))
    return Diagnostic("E0119", "the bounds of a box are separated by a comma", failure.span, help=help)


IDIOMS: tuple[Callable[[Failure], Diagnostic | None], ...] = (
    quoted_call,
    path_of_data,
    module_or_method,
    indexed_call,
    chained_brackets,
    sum_without_parentheses,
    lambda_function,
    keyword_dim,
    comprehension,
    guard_by_if,
    conditional,
    slice_of_axis,
    floor_division,
    augmented_assignment,
    time_derivative,
    index_range,
    network_name,
    box_without_comma,
)
