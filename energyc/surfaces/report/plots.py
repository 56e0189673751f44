"""Draw the pictures of a run into its ``pictures/``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from energyc.files import SafePath
from energyc.language.diagnostics import Option, Resuming, UserError, spoken
from energyc.language.network import Network
from energyc.running.folder.layout import RunFolder
from energyc.running.runs.saved import SavedRun, load_run
from energyc.running.training.feeds import Feed
from energyc.running.training.order import evenly_spread
from energyc.running.training.session import Session
from energyc.studies.inspection.parts import Nothing
from energyc.surfaces.charts.canvas import draw_charts
from energyc.surfaces.charts.curves import health_charts, learning_charts, seed_charts
from energyc.surfaces.report.inside_plots import INSIDE, RELAXING
from energyc.surfaces.report.scene import EVERYTHING, Choice, Scene

Notify = Callable[[str], None]


@dataclass(frozen=True)
class Drawn:
    """The paths of the pictures, in the order of drawing, and the reason for each kind that has no meaning here."""

    paths: list[Path]
    without: Mapping[str, str] = field(default_factory=dict)


def plot_run(
    path: Path | str,
    session: Session | None = None,
    network: Network | None = None,
    choice: Choice = EVERYTHING,
    notify: Notify = lambda text: None,
) -> Drawn:
    """Draw the pictures of a run.

    ``learning.png`` and ``health.png`` come from metrics.jsonl alone. With a ``session`` (the network, its data),
    ``energy.png`` shows the best weights on some test samples, and so do ``triples.png`` and ``growing.png`` if
    a readout is an image like a clamp and a target; a network of layers has of these ``triples.png``
    alone. With its ``network`` there are also those of ``inside_plots``. A folder of several seeds gets ``seeds.png``.
    Raises UserError E0511 (no run), E0530 (nothing recorded yet, no matplotlib, or a kind that was asked for by name
    has no meaning here).
    """
    folder = RunFolder(Path(path))
    if folder.of_several and set(choice.kinds) <= {"curves"}:
        return Drawn([_plot_seeds(folder).path])
    run = load_run(folder.path)
    paths, without = _plot_curves(run) if choice.has("curves") else [], dict[str, str]()
    if session is not None and set(choice.kinds) != {"curves"}:
        _plot_network(_scene(run, session, network, choice, notify), choice, paths, without)
    for kind in choice.kinds:
        if kind in without:
            raise UserError(f"there is no picture of {kind} of {run.folder.path}: {without[kind]}", code="E0530")
    return Drawn([picture.path for picture in paths], without)


def _plot_curves(run: SavedRun) -> list[SafePath]:
    rows = run.rows()
    if not rows:
        raise _nothing_recorded(run)
    title = f"{run.info.get('network', '')}, {run.info.get('rule', '')}"
    learning, health = run.folder.pictures / "learning.png", run.folder.pictures / "health.png"
    best = run.checkpoint("last").state.get("best") or {}
    draw_charts(learning_charts({"": rows}, best.get("step")), learning, title=title, columns=2)
    healthy = health_charts({"": rows})
    if not healthy:
        return [learning]
    draw_charts(healthy, health, title=title)
    return [learning, health]


def _nothing_recorded(run: SavedRun) -> UserError:
    path = run.folder.path
    if run.checkpoint("last").step == 0:
        help_text = spoken("train it: {}", Resuming(path))
        return UserError(f"the run {path} has recorded nothing yet", code="E0530", help=help_text)
    message = f"the rows of {run.folder.metrics} are gone, and the curves are drawn from them"
    instead = f"put a copy back, or train anew with another {{}}; energyc eval {path} measures the network as it is"
    help_text = spoken(instead, Option("out"))
    return UserError(message, code="E0530", help=help_text)


def _scene(run: SavedRun, session: Session, network: Network | None, choice: Choice, notify: Notify) -> Scene:
    """Return the network of a session with the best weights, on some test samples."""
    run.load_into(session.net, notify=notify)
    session.net.train(False)
    feed = Feed(session.feeds, "test", session.device, session.dtype)
    batch = feed.batch(evenly_spread(len(feed), choice.samples), seed=session.options.seed)
    return Scene(network, session, feed, batch, choice, run.folder.pictures, notify)


def _plot_network(scene: Scene, choice: Choice, paths: list[SafePath], without: dict[str, str]) -> None:
    """Draw what is chosen of a scene; add the paths, and the reasons for kinds without a meaning."""
    kinds = RELAXING if scene.known is None else {**RELAXING, **INSIDE}
    for kind, draw in kinds.items():
        if choice.has(kind):
            try:
                paths += draw(scene)
            except Nothing as nothing:
                without[kind] = str(nothing)


def _plot_seeds(folder: RunFolder) -> SafePath:
    runs = {path.name: load_run(path).rows() for path in folder.runs}
    if not any(runs.values()):
        raise UserError(f"the runs in {folder.path} have recorded nothing yet", code="E0530", help="train them first")
    path = folder.pictures / "seeds.png"
    draw_charts(seed_charts(runs), path, title=folder.path.name)
    return path
