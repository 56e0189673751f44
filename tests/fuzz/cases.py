"""One case of the fuzzer: what a person may ask of a text, of which only diagnostics may come out."""

from __future__ import annotations

import io
import json
import linecache
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import torch

from energyc import pipeline
from energyc.language.diagnostics import CompilerBug, SpecError, UserError, render_text, to_json
from energyc.language.resolve.memory import estimate
from energyc.pipeline import Choices
from energyc.surfaces.cli.main import main
from energyc.surfaces.cli.values import read_settings
from tests.fuzz import mutations

#: Seconds of the processor that a case may take: of a spec that is right all terms are judged, and all rules printed.
SECONDS = 120
#: So much longer it may wait, on a machine that does other things too.
PATIENCE = 10
#: How many of the right specs are looked at further: it takes ten times as long as all wrong ones.
DEEP = 0.35
#: How many of the texts go through the commands of an editor, which read each of them four times.
EDITED = 0.1
STATUSES = (0, 1, 2, 3, 4)
#: What needs more memory for a sample is not relaxed.
BYTES = 20_000_000


class Hangs(BaseException):
    """A case took too long. Nothing that catches an Exception catches it."""


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings: of what does not settle, of unused names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True)
class Find:
    """A result that should not have come out: a cause (the same for all that share it), and the whole of it."""

    cause: str
    about: str


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise Hangs after so many seconds of the processor, or ten times as many of the clock."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise Hangs

    timers = {signal.ITIMER_PROF: (signal.SIGPROF, seconds), signal.ITIMER_REAL: (signal.SIGALRM, PATIENCE * seconds)}
    before = {number: signal.signal(number, stop) for number, _ in timers.values()}
    for timer, (_, limit) in timers.items():
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def tried(case: Callable[[], Find | None], seconds: int = SECONDS) -> Find | None:
    """A case, and what it found; an exception that escapes is a find."""
    try:
        with limited(seconds), quiet():
            return case()
    except Hangs as error:
        return Find(f"more than {seconds} s at {_place(error)}", traceback.format_exc())
    except BaseException as error:
        return Find(_cause(error), traceback.format_exc())


def _cause(error: BaseException) -> str:
    """The exception at the root, and the place of ours that raised it."""
    while isinstance(error, CompilerBug) or error.__cause__ is not None:
        error = error.error if isinstance(error, CompilerBug) else (error.__cause__ or error)
    return f"{type(error).__name__} at {_place(error)}"


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/energyc/" in f.filename or f.filename.startswith("<energyc")] or list(frames)
    if not ours:
        return "an unknown place"
    name = ours[-1].filename.rsplit("energyc/", 1)[-1]
    return f"{'generated code' if name.startswith('<') else name}, {ours[-1].name}: {ours[-1].line}"


# -------------------------------------------------------------------- commands


def command(*arguments: str) -> Find | None:
    """A command in this process: its status and its words must be those of an error of the user, or of none."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main([*arguments, "--debug"])
    said = out.getvalue() + err.getvalue()
    if status not in STATUSES or "internal error" in said:
        return Find(f"status {status}{_said_cause(said)}", said)
    if "json" in arguments:
        json.loads(out.getvalue() or "null", parse_constant=_no_number)
    return None


def _said_cause(said: str) -> str:
    """The cause that a command gives, and the last place of ours in the traceback of the first exception."""
    cause = [line for line in said.splitlines() if line.startswith("  cause: ")]
    first = said.split("The above exception")[0].splitlines()
    frames = [line for line in first if line.startswith('  File "') and "/energyc/" in line]
    return "".join([*cause[:1], f" at {frames[-1].rsplit('energyc/', 1)[-1]}" if frames else ""])


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def of_text(text: str, seed: int, settings: list[str], deep: float = DEEP) -> Find | None:
    """Resolve a text; what is wrong is rendered, and of what is right one thing is asked, with the chance ``deep``.

    One in ten is read by the commands of an editor instead.
    """
    random = Random(seed)
    if random.random() < EDITED:
        return _in_a_file(text, lambda path: _checked(path, settings, random))
    try:
        pipeline.resolve(
            pipeline.read(text if "\n" in text else f"{text}\n"), Choices(None, read_settings(tuple(settings)))
        )
    except SpecError as error:
        return _rendered(error)
    except UserError:
        return None
    if random.random() > deep:
        return None
    return _in_a_file(text, lambda path: _of_right_text(path, random))


def mutant(seed: int, deep: float = DEEP) -> Find | None:
    """A mutant, and what a person may ask of it."""
    return of_text(mutations.mutant(seed), seed, mutations.settings(seed), deep)


def text_of_mutant(seed: int) -> str:
    """A mutant, below the settings that it is read with."""
    return f"{' '.join(mutations.settings(seed))}\n{mutations.mutant(seed)}"


def _in_a_file(text: str, case: Callable[[Path], Find | None]) -> Find | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spec.energy"
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        return case(path)


def _checked(path: Path, settings: list[str], random: Random) -> Find | None:
    """The commands of an editor: check with settings, and the format."""
    chosen = [word for setting in settings for word in ("--set", setting)]
    found = command("check", str(path), *chosen, "--format", random.choice(("json", "text")))
    return found or command("fmt", "--check", str(path))


def _rendered(error: SpecError) -> Find | None:
    """The words for a person and for a program; one diagnostic at least."""
    json.dumps([to_json(diagnostic, error.source) for diagnostic in error.diagnostics], allow_nan=False)
    render_text(error.diagnostics, error.source)
    refused = any(diagnostic.severity == "error" for diagnostic in error.diagnostics)
    return None if refused else Find("refused without an error", str(error))


def _of_right_text(path: Path, random: Random) -> Find | None:
    """One of what can be asked of a spec without errors."""
    stages = "tree network ir forces jacobian plan kernels torch cpp triton".split()
    target = random.choice(("torch", "cpp", "triton"))
    asked: list[Callable[[], Find | None]] = [
        lambda: command("check", str(path), "--format", random.choice(("json", "text"))),
        lambda: command("show", str(path), "--stage", random.choice(stages)),
        lambda: command("explain", str(path)),
        lambda: command("compile", str(path), "-o", str(path.parent / "out"), "--target", target),
        lambda: used(path.read_text(encoding="utf-8"), random),
        lambda: used(path.read_text(encoding="utf-8"), random),
    ]
    return random.choice(asked)()


# -------------------------------------------------------------------- from Python


def used(text: str, random: Random) -> Find | None:
    """Print a module for all rules, relax it, and take gradients by a rule; what is refused is refused by us."""
    network = pipeline.resolve(pipeline.read(text))
    target = random.choice(("torch", "torch", "cpp", "triton"))
    compiled = pipeline.emit(network, pipeline.ALL, target=target)
    compile(compiled.text, "module", "exec")
    parts = (network, *(layer.network for layer in network.layers.values()))
    if target != "torch" or sum(map(estimate, parts)) > BYTES:
        return None
    try:
        net = pipeline.instantiate(compiled, "cpu", torch.float64, 0)
        clamps, targets = (_drawn(shapes, random) for shapes in (net.clamp_shapes, net.target_shapes))
        net.relax(clamps, steps=3)
        net.gradients(clamps, targets, rule=random.choice(net.rules), steps=3)
    except (SpecError, UserError):
        return None
    except (ValueError, RuntimeError) as error:
        if not raised_by_us(error):
            raise
    return None


def _drawn(shapes: Any, random: Random) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(random.randrange(2**31))
    return {
        name: torch.randint(classes, (2, *shape), generator=generator)
        if classes is not None
        else torch.randn(2, *shape, generator=generator, dtype=torch.float64)
        for name, (shape, classes) in shapes.items()
    }


def raised_by_us(error: BaseException) -> bool:
    """Whether the line that raised an exception is a ``raise`` of energyc or of a module that it wrote."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    ours = "/energyc/" in frame.filename or frame.filename.startswith("<energyc")
    line = frame.line or linecache.getline(frame.filename, frame.lineno or 0)
    return ours and line.strip().startswith("raise ")
