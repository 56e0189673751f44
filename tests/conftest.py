"""The setup that all tests share: threads, the seed, ``--update-golden``, and that nothing is left behind."""

from __future__ import annotations

import gc
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from energyc.language.network import Network
    from energyc.proofs.claims.classes import Classes

ROOT = Path(__file__).resolve().parent.parent
#: What tools write at the root on purpose.
TOOLS = frozenset({"build", "dist", "energyc.egg-info"})

# The tensors of the tests are small: threads would wait for each other more than they work. Subprocesses inherit it.
for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
# Building kernels takes seconds for each network: only the tests of kernels build them.
os.environ.setdefault("ENERGYC_TARGET", "torch")
# Tests ask the compiler, not what it said another time; those of the cache have one of their own.
os.environ.setdefault("ENERGYC_FRESH", "1")
# Programs of JAX run once or twice: their optimisation takes longer than they do.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
# Workers inherit the seed, so that they collect the same tests.
os.environ.setdefault("ENERGYC_SEED", str(random.SystemRandom().randrange(2**32)))
# Triton decides when it is imported whether it interprets its kernels, which it has to without a GPU.
if not any(Path("/dev").glob("nvidia[0-9]*")):
    os.environ.setdefault("TRITON_INTERPRET", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files and the output in the pages")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the slow cases of what is ``abridged``, and leave out those that the seed does not choose."""
    abridge(items)
    left_out = unchosen(items)
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=list(left_out))


def abridge(items: list[pytest.Item]) -> None:
    """Of a test that is ``abridged`` the first case is in the default run, and each ``every``-th one after it."""
    met = Counter[str]()
    for item in items:
        mark, name = item.get_closest_marker("abridged"), item.nodeid.partition("[")[0]
        if mark is None or item.get_closest_marker("slow") is not None:
            continue
        if met[name] % mark.kwargs.get("every", met[name] + 1):
            item.add_marker(pytest.mark.slow)
        met[name] += 1


def unchosen(items: list[pytest.Item]) -> dict[pytest.Item, None]:
    """The slow cases of ``abridged`` and ``sampled`` tests that do not run where ``ENERGYC_DRAWS`` is below 1."""
    from tests.drawing import share

    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if "slow" in marks and marks & {"abridged", "sampled"}:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    chosen = {item for several in cases.values() for item in share(several)}
    return {item: None for several in cases.values() for item in several if item not in chosen}


def pytest_collection_finish() -> None:
    """Modules and tests stay: the garbage collector, a quarter of the time, need not look at them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether expected output is to be rewritten."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, Figure]:
    """Every figure that is written, by the stem of its file."""
    from energyc.surfaces.charts import canvas

    seen: dict[str, Figure] = {}
    write = canvas._write

    def keep(figure: Figure, path: Path) -> None:
        seen[path.stem] = figure
        write(figure, path)

    monkeypatch.setattr(canvas, "_write", keep)
    return seen


@pytest.fixture(autouse=True, scope="module")
def without_pictures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Pictures take longer than a short run: only modules of tests that are marked with ``pictures`` draw them."""
    with pytest.MonkeyPatch.context() as patch:
        if request.node.get_closest_marker("pictures") is None:
            patch.setattr("energyc.surfaces.api.training.draw_pictures", lambda *_: [])
        yield


#: Rooms whose tests judge proofs. In all others the same network is classified once by each worker.
JUDGING = frozenset({"analysis", "checker", "fuzz", "symbolic"})


@pytest.fixture(autouse=True)
def classified_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs are a fifth of the time of the other rooms. A network is the same by its text, sizes and settings."""
    if not JUDGING.isdisjoint(request.path.relative_to(ROOT).parts):
        return
    from energyc.proofs.verdicts import in_notation

    def remembered(network: Network) -> Classes:
        key = "\0".join(map(repr, _settings(network)))
        if key not in _CLASSES:
            _CLASSES[key] = _classes_of(network)
        return _CLASSES[key]

    _classes_of = in_notation.classes_of
    monkeypatch.setattr(in_notation, "classes_of", remembered)


_CLASSES: dict[str, Classes] = {}


def _settings(network: Network) -> Iterator[object]:
    """What tells a network from another one."""
    yield from (network.source.name, network.source.text, network.extents, network.consts)
    for part in (network, *(layer.network for layer in network.layers.values())):
        yield from (part.relax, part.nudge, part.train)


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """A test writes into a folder of its own, not beside the sources."""
    before = _names()
    yield
    assert not (new := _names() - before), f"left in {ROOT}: {sorted(new)}"


def _names() -> set[str]:
    return {name for name in os.listdir(ROOT) if not name.startswith(".")} - TOOLS
