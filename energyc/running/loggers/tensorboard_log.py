"""TensorBoard's event files, in the run folder: ``tensorboard --logdir runs`` shows every run by its name."""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from energyc.extras import TENSORBOARD, install_extra
from energyc.files import SafePath
from energyc.language.diagnostics import UserError
from energyc.running.loggers.protocol import Ending, Logger, Run

#: The names of the files; TensorBoard reads them in this order.
PATTERN = "events.out.tfevents.*.energyc"
#: PNG's colour types: the number of channels.
_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}


class TensorBoard(Logger):
    """Writes ``train/cost``, ``test/accuracy`` and so on by update, the spec as text, and the pictures.

    Each record is written out at once, so that a killed process loses none. A resumed run begins another event file,
    whose first record makes TensorBoard drop what is told again. Raises UserError E0952 where tensorboard
    cannot be imported.
    """

    def __init__(self) -> None:
        _require()
        self._file: EventFile | None = None

    def start(self, run: Run) -> None:
        earlier = len(list(run.folder.glob(PATTERN)))
        self._file = EventFile(run.folder / PATTERN.replace("*", f"{earlier + 1:06d}"))
        if earlier:
            self._file.drop(run.update)
        if run.update == 0:
            self._file.text("spec", (SafePath(run.folder) / "spec.energy").read_utf8())

    def scalars(self, update: int, part: str, numbers: Mapping[str, float]) -> None:
        if self._file is not None:
            self._file.scalars(update, {f"{part}/{name}": value for name, value in numbers.items()})

    def picture(self, update: int, name: str, path: Path) -> None:
        if self._file is not None:
            self._file.picture(update, f"pictures/{name}", (SafePath(path.parent) / path.name).read())

    def finish(self, ending: Ending) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class EventFile:
    """A new event file: records of TensorBoard's protocol buffers."""

    def __init__(self, path: Path) -> None:
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._records = RecordWriter(path.open("xb"))
        self._write(file_version="brain.Event:2")

    def drop(self, step: int) -> None:
        """Make readers drop what earlier files have from ``step`` on."""
        from tensorboard.compat.proto.event_pb2 import SessionLog

        self._write(step, session_log=SessionLog(status=SessionLog.START))

    def scalars(self, step: int, numbers: Mapping[str, float]) -> None:
        """Write numbers by tag."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in numbers.items()]
        self._write(step, summary=Summary(value=values))

    def text(self, tag: str, text: str) -> None:
        """Write a text as it is; TensorBoard reads Markdown, in which four spaces begin such lines."""
        from tensorboard.plugins.text.summary_v2 import text_pb

        self._write(0, summary=text_pb(tag, "".join(f"    {line}\n" for line in text.splitlines())))

    def picture(self, step: int, tag: str, png: bytes) -> None:
        """Write a picture: the bytes of a PNG file, whose first chunk has its size and its type."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        width, height, _, color = struct.unpack(">IIBB", png[16:26])
        image = Summary.Image(width=width, height=height, colorspace=_CHANNELS.get(color, 3), encoded_image_string=png)
        self._write(step, summary=Summary(value=[Summary.Value(tag=tag, image=image)]))

    def close(self) -> None:
        """Close the file."""
        self._records.close()

    def _write(self, step: int = 0, **content: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self._records.write(Event(wall_time=time.time(), step=step, **content).SerializeToString())
        self._records.flush()


def _require() -> None:
    try:
        import tensorboard.plugins.text.summary_v2
        import tensorboard.summary.writer.record_writer  # noqa: F401
    except ModuleNotFoundError:
        raise TENSORBOARD.missing() from None
    except Exception as error:  # an installation whose parts do not fit, which its own modules say in many ways
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        message = f"TensorBoard cannot be imported: {reason}"
        raise UserError(message, code="E0952", help=f"{install_extra(TENSORBOARD.extra)} --upgrade") from error
