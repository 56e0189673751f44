"""Draw the pictures of a run into its ``pictures/``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from energyc.diagnostics import UserError
from energyc.report.curves import health_curves, learning_curves, seed_curves

if TYPE_CHECKING:
    from energyc.runs.saved import SavedRun
    from energyc.train.folder import RunFolder
    from energyc.train.session import Session

Notify = Callable[[str], None]


def plot_run(
    path: Path | str, session: Session | None = None, *, samples: int = 8, notify: Notify = lambda text: None
) -> list[Path]:
    """Draw the pictures of a run and return their paths, in the order of drawing.

    ``learning.png`` and ``health.png`` come from metrics.jsonl alone. With a ``session`` (the network, its data),
    ``energy.png`` shows the best weights on ``samples`` test samples, and so do ``triples.png`` and ``growing.png`` if
    a readout is an image with the shape of a clamp and a target; a network of layers has of these ``triples.png``
    alone. A folder of several seeds gets ``seeds.png``.
    Raises UserError E0511 (no run), E0530 (nothing recorded yet, or no matplotlib).
    """
    from energyc.runs.saved import load_run
    from energyc.train.folder import RunFolder

    folder = RunFolder(Path(path))
    if folder.of_several:
        return _plot_seeds(folder)
    run = load_run(folder.path)
    paths = _plot_curves(run)
    if session is not None:
        paths += _plot_network(run, session, samples, notify)
    return paths


def _plot_curves(run: SavedRun) -> list[Path]:
    rows = run.rows()
    if not rows:
        raise _nothing_recorded(run)
    title = f"{run.info.get('network', '')}, {run.info.get('rule', '')}"
    learning, health = run.folder.pictures / "learning.png", run.folder.pictures / "health.png"
    best = run.checkpoint("last").state.get("best") or {}
    learning_curves(rows, learning, title=title, best=best.get("step"))
    if not any(row.get("kind") == "train" for row in rows):
        return [learning]
    health_curves(rows, health, title=title)
    return [learning, health]


def _nothing_recorded(run: SavedRun) -> UserError:
    path = run.folder.path
    if run.checkpoint("last").step == 0:
        help_text = f"train it: energyc train --resume {path}"
        return UserError(f"the run {path} has recorded nothing yet", code="E0530", help=help_text)
    message = f"the rows of {run.folder.metrics} are gone, and the curves are drawn from them"
    help_text = f"put a copy back or train anew with another --out; energyc eval {path} measures the network as it is"
    return UserError(message, code="E0530", help=help_text)


def _plot_network(run: SavedRun, session: Session, samples: int, notify: Notify) -> list[Path]:
    from energyc.report import relaxation
    from energyc.train.feeds import Feed
    from energyc.train.order import evenly_spread

    run.load_into(session.net, notify=notify)
    session.net.train(False)
    feed = Feed(session.feeds, "test", session.device, session.dtype)
    batch = feed.batch(evenly_spread(len(feed), samples), seed=session.options.seed)
    paths = {name: run.folder.pictures / f"{name}.png" for name in ("energy", "triples", "growing")}
    forces, energies = session.info.get("forces", ()), session.info.get("energies") != []
    drawn: list[Path] = []
    if not session.info.get("layers"):  # which relax one after the other, each down an energy of its own
        relaxation.energy_curves(session.net, batch, paths["energy"], forces=forces, energies=energies)
        drawn.append(paths["energy"])
    names = relaxation.find_images(session.net, batch)
    if names is None:
        return drawn
    relaxation.triples(session.net, batch, names, paths["triples"])
    if session.info.get("layers"):
        return [*drawn, paths["triples"]]
    relaxation.growing_reconstructions(session.net, batch, names, paths["growing"])
    return [*drawn, paths["triples"], paths["growing"]]


def _plot_seeds(folder: RunFolder) -> list[Path]:
    from energyc.runs.saved import load_run

    runs = {path.name: load_run(path).rows() for path in folder.runs}
    if not any(runs.values()):
        raise UserError(f"the runs in {folder.path} have recorded nothing yet", code="E0530", help="train them first")
    path = folder.pictures / "seeds.png"
    seed_curves(runs, path, title=folder.path.name)
    return [path]
