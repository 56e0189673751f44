"""The bytes of messages.

None is longer than a spec can be, since pygls takes any length at its word; and an editor that is gone ends the server,
since pygls goes on and logs each answer that it cannot send.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import BinaryIO

#: Bytes of the longest message; of a text of that length nothing is said in any case.
LONGEST = 64 << 20
#: Bytes of the longest header.
LONGEST_HEADER = 4096
#: The digits of the longest message that is passed over. No editor sends the bytes that a longer one announces.
PASSED_OVER = 10
_LENGTH = re.compile(rb"Content-Length: (\d+)\r?\n?")
_CHUNK = 1 << 16


class Messages:
    """The messages of an editor, as pygls reads them: headers by line, then as many bytes as they say.

    A message that is too long is passed over, and ``refuse`` is told why.
    """

    def __init__(self, stream: BinaryIO, refuse: Callable[[str], None]) -> None:
        self._stream, self._refuse = stream, refuse

    def readline(self) -> bytes:
        """The next line of a header, or as much of it as a header may have; empty at the end."""
        line = self._stream.readline(LONGEST_HEADER)
        found = _LENGTH.fullmatch(line)
        digits = found[1].lstrip(b"0") if found else b""
        if len(digits) > PASSED_OVER or int(digits or b"0") > LONGEST:
            self._pass_over(line, digits)
            return b"\n"
        return line

    def read(self, count: int) -> bytes:
        """The body of a message."""
        return self._stream.read(count)

    def _pass_over(self, line: bytes, digits: bytes) -> None:
        """Read the rest of a header, and the body where it may be there."""
        self._refuse(f"a message of more than {LONGEST:,} bytes is not read")
        begun = line  # of which the rest may be no more than the end
        while line and (line.strip() or not begun.endswith(b"\n")):
            begun, line = line, self._stream.readline(LONGEST_HEADER)
        left = int(digits) if len(digits) <= PASSED_OVER else 0
        while left and (chunk := self._stream.read(min(left, _CHUNK))):
            left -= len(chunk)


class Answers:
    """The answers to an editor, as pygls writes them; the first that cannot be written calls ``gone``."""

    def __init__(self, stream: BinaryIO, gone: Callable[[], None]) -> None:
        self._stream, self._gone = stream, gone

    def write(self, data: bytes) -> None:
        """Write the bytes of a message."""
        self._attempt(self._stream.write, data)

    def flush(self) -> None:
        """Send what is written."""
        self._attempt(self._stream.flush)

    def close(self) -> None:
        """Close the stream."""
        self._attempt(self._stream.close)

    def _attempt(self, act: Callable[..., object], *arguments: object) -> None:
        try:
            act(*arguments)
        except OSError:
            self._gone()
