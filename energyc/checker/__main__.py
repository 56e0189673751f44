"""``python -m energyc.checker FILE SPEC``: the answer to each certificate.

The exit status is 0 where there is an answer and all are yes, 1 where one is not, 2 where a file cannot be read.
"""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from energyc.checker.judge import Answer, judge
from energyc.checker.shapes import Malformed
from energyc.checker.statements import printable

USAGE = "usage: python -m energyc.checker FILE SPEC"
#: The most bytes of a file, and characters of a reason that are shown.
BYTES, SHOWN = 64 << 20, 400


def main(arguments: Sequence[str]) -> int:
    """Print the answer to each certificate of a file, and how many proofs it leaves out."""
    if len(arguments) != 2:
        return _failed(USAGE)
    path, spec = arguments
    try:
        text, file = text_of(spec), certificates_of(path)
        answers = judge(file, text)
        if not answers:
            raise Malformed(f"{path} has no certificate, so that nothing is verified")
    except Malformed as error:
        return _failed(f"error: {error}")
    for answer in answers:
        print(shown(answer))
    if uncertified := file.get("uncertified"):
        print(f"{'uncertified':<12} {len(uncertified)} proofs of the compiler, not verified here")
    return int(any(answer.verdict != "yes" for answer in answers))


def shown(answer: Answer) -> str:
    """An answer on one line."""
    about = answer.about if answer.verdict == "yes" else f"{answer.about}: {printable(answer.reason)[:SHOWN]}"
    return f"{answer.verdict:<12} {about}"


def certificates_of(path: str) -> Mapping[str, Any]:
    """Return the content of a file of certificates. Raises Malformed if it is not a JSON object."""
    try:
        found = json.loads(text_of(path), object_pairs_hook=_object, parse_constant=_no_number)
    except Malformed:
        raise
    except (RecursionError, MemoryError):
        raise Malformed(f"{path} is nested too deeply") from None
    except ValueError as error:
        raise Malformed(f"{path} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise Malformed(f"{path} is JSON, but not an object")
    return found


def text_of(path: str) -> str:
    """The text of a file. Raises Malformed for one that cannot be read, or is no text in UTF-8."""
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise Malformed(f"{path} is not a regular file")
        with Path(path).open("rb") as file:
            content = file.read(1 + min(BYTES, Path(path).stat().st_size))
    except OSError as error:
        raise Malformed(f"{path} cannot be read: {error.strerror}") from None
    if len(content) > BYTES:
        raise Malformed(f"{path} is larger than {BYTES >> 20} MiB")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Malformed(f"{path} is not UTF-8 at byte {error.start}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise Malformed(f"an object has the field {next(n for n in names if names.count(n) > 1)!r} twice")
    return found


def _no_number(word: str) -> Any:
    raise Malformed(f"{word} is not JSON")


def _failed(sentence: str) -> int:
    print(printable(sentence)[:SHOWN], file=sys.stderr)
    return 2


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1:]))
