"""``energyc.view``, ``plot`` and ``explain``: pages, pictures and documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike, fspath
from pathlib import Path
from types import MappingProxyType
from typing import Any

from energyc.files import SafePath
from energyc.language.diagnostics import UserError
from energyc.pipeline import Choices
from energyc.surfaces.api.common import Notify, given, network_of, notes_to
from energyc.surfaces.api.files import write_text
from energyc.surfaces.api.result import Result

#: The forms of a document by the ending of its file.
FORMS: Mapping[str, str] = MappingProxyType(
    {".md": "markdown", ".txt": "markdown", ".tex": "latex", ".html": "html", ".htm": "html"}
)
#: Bytes of a picture that a notebook shows.
LARGEST_PICTURE = 32 << 20
#: The endings of pages.
PAGES = (".html", ".htm")


@dataclass(frozen=True, repr=False)
class Page(Result):
    """The page of a run, or of two side by side, and its file."""

    runs: tuple[str, ...]
    html: str
    path: Path

    def to_json(self) -> dict[str, Any]:
        """Return the runs and the path."""
        return {"runs": list(self.runs), "page": str(self.path)}

    def to_text(self, *, color: bool = False) -> str:
        """Return the path."""
        return f"{self.path}\n"

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, so that its styles stay in it."""
        return f'<iframe srcdoc="{escape(self.html)}" width="100%" height="600" sandbox="allow-scripts"></iframe>'


@dataclass(frozen=True, repr=False)
class Pictures(Result):
    """The paths of the pictures of a run, and the reason for each kind that it has none of."""

    run: Path
    paths: tuple[Path, ...]
    without: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return the run, the paths and the reasons."""
        return {"run": str(self.run), "pictures": list(map(str, self.paths)), "without": dict(self.without)}

    def to_text(self, *, color: bool = False) -> str:
        """Return the paths, a line each."""
        return "".join(f"{path}\n" for path in self.paths)

    def _repr_html_(self) -> str:
        """Return the pictures themselves."""
        from energyc.surfaces.report.view import embedded

        pictures = (embedded((SafePath(path.parent) / path.name).read(LARGEST_PICTURE)) for path in self.paths)
        return "".join(f'<img src="{address}" style="max-width:100%">' for address in pictures)


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """The derivations and the model table of a network as a document in some ``form``, and its file if there is one."""

    text: str
    form: str
    file: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the text."""
        return {"text": self.text} if self.file is None else {"text": self.text, "file": str(self.file)}

    def to_text(self, *, color: bool = False) -> str:
        """Return the text, or the path of the file."""
        return self.text if self.file is None else f"{self.file}\n"

    def _repr_html_(self) -> str | None:
        """Return the document if it is HTML."""
        return self.text if self.form == "html" else None

    def _repr_markdown_(self) -> str | None:
        """Return the document if it is Markdown."""
        return self.text if self.form == "markdown" else None


def view(
    run: str | PathLike[str],
    other: str | PathLike[str] | None = None,
    *,
    out: str | Path | None = None,
    notify: Notify | None = None,
) -> Page:
    """Write the page of a run, or of two runs side by side: curves, health, relaxations, settings, pictures.

    ``out`` is an .html file, ``RUN/view.html`` by default. The page is one file, which needs no network. A run may be
    in progress. Raises UserError (a folder that is not a run, a file that cannot be written).
    """
    from energyc.surfaces.report.view import view as page_of

    if out is not None and Path(out).suffix not in PAGES:
        raise UserError(f"{out} has no known ending", code="E0907", help="use .html")
    runs = tuple(fspath(place) for place in (run, other) if place is not None)
    text = page_of(runs, notes_to(notify))
    if out is not None:
        return Page(runs, text, write_text(Path(out), text))
    beside = "" if other is None else f"-{Path(other).resolve().name}"
    return Page(runs, text, write_text(SafePath(Path(run)) / f"view{beside}.html", text).path)


def plot(
    run: str | PathLike[str],
    kinds: Sequence[str] | str = (),
    data: Any = None,
    *,
    test: Any = None,
    validation: Any = None,
    map: Mapping[str, str] | None = None,
    samples: int = 16,
    sample: int = 0,
    heads: Sequence[int] = (),
    tokens: Sequence[tuple[int, ...]] = (),
    notify: Notify | None = None,
) -> Pictures:
    """Draw the pictures of a run into its folder: of all ``kinds`` that it has, or of those that are named.

    ``samples`` test samples are drawn; attention is that of one ``sample``, of some ``heads``, from some ``tokens``
    (places from 0, on a grid ``(2, 3)``). ``data`` and what follows are those of ``energyc.train``, for a run whose
    data a program gave. Raises UserError (no run, no matplotlib, a kind that has no meaning here), SpecError.
    """
    from energyc.running.folder.layout import RunFolder
    from energyc.running.runs.prepare import reopen
    from energyc.running.runs.target import suited_threads
    from energyc.surfaces.report.plots import plot_run
    from energyc.surfaces.report.scene import Choice

    folder, notify = Path(fspath(run)), notes_to(notify)
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    choice = Choice(kinds, samples, sample, tuple(heads), tuple(tokens))
    if RunFolder(folder).of_several:
        drawn = plot_run(folder, None, None, choice, notify)
    else:
        prepared = reopen(folder, data=given(data, test, validation, map))
        with suited_threads(prepared.network, prepared.options.batch):
            drawn = plot_run(folder, prepared.session(folder), prepared.network, choice, notify)
    return Pictures(folder, tuple(drawn.paths), dict(drawn.without))


def explain(
    spec_or_run: str | PathLike[str],
    out: str | Path | None = None,
    *,
    form: str | None = None,
    preset: str | None = None,
    dims: Mapping[str, int] | None = None,
    consts: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
) -> Explanation:
    """Write the derivations and the model table of a spec or a run.

    The ``form`` is ``markdown``, ``latex`` or ``html``, by default that of the ending of ``out``, else Markdown.
    Raises SpecError, UserError.
    """
    from energyc.surfaces.report.explain import LAYOUTS
    from energyc.surfaces.report.explain import explain as document

    if form is None:
        form = "markdown" if out is None else FORMS.get(Path(out).suffix)
        if form is None:
            raise UserError(f"{out} has no known ending", code="E0907", help=f"use one of {', '.join(FORMS)}")
    if form not in LAYOUTS:
        raise UserError(f"there is no form {form}", code="E0930", help=f"use one of {', '.join(LAYOUTS)}")
    text = document(network_of(spec_or_run, Choices.of(preset, dims, consts, settings)), form)
    return Explanation(text, form, None if out is None else write_text(Path(out), text))
