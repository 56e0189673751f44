"""Below a folder that is not trusted no link is followed, only regular files are read, and names stay inside."""

from __future__ import annotations

import os
import socket
import stat
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from energyc import files
from energyc.files import NotTrusted, SafePath, cache_folder, distrusted, write

SECRET = b"what must not change"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    path = tmp_path / "outside" / "secret"
    path.write_bytes(SECRET)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


@pytest.fixture(params=[True, False], ids=["in open folders", "by paths"])
def relative(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Linux and macOS; and as on Windows, which cannot look names up in an open folder."""
    monkeypatch.setattr(files, "_RELATIVE", request.param)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


ODD: dict[str, Callable[[Path], None]] = {
    "link": lambda path: path.symlink_to(path.parent.parent / "outside" / "secret"),
    "relative link": lambda path: path.symlink_to("../outside/secret"),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "broken link": lambda path: path.symlink_to("nowhere"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "pipe": _pipe,
    "socket": _socket,
    "folder": Path.mkdir,
}
ACTIONS: dict[str, Callable[[SafePath], object]] = {
    "read": lambda path: path.read(),
    "read text": lambda path: path.read_utf8(),
    "write": lambda path: path.write(b"new"),
    "append": lambda path: path.append_utf8("new"),
}


@pytest.mark.usefixtures("relative")
@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS)
@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_what_is_not_a_file_is_refused(
    make: Callable[[Path], None], action: Callable[[SafePath], object], folder: Path, outside: Path
) -> None:
    make(folder / "metrics.jsonl")
    with pytest.raises(NotTrusted):
        action(SafePath(folder) / "metrics.jsonl")
    assert outside.read_bytes() == SECRET
    assert os.listdir(folder) == ["metrics.jsonl"] and os.listdir(outside.parent) == ["secret"]


@pytest.mark.usefixtures("relative")
@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS)
def test_a_link_to_a_folder_is_not_followed(action: Callable[[SafePath], object], folder: Path, outside: Path) -> None:
    (folder / "checkpoints").symlink_to(outside.parent)
    place = SafePath(folder) / "checkpoints"
    for path in (place / "secret", place / "deeper" / "secret"):
        with pytest.raises(NotTrusted, match="a symbolic link, which is not followed"):
            action(path)
    for refused in (place.names, place.mkdir, (place / "secret").remove, lambda: (place / "secret").move("x")):
        with pytest.raises(NotTrusted):
            refused()
    assert outside.read_bytes() == SECRET and os.listdir(outside.parent) == ["secret"]
    assert not place.is_dir() and place.exists()


@pytest.mark.usefixtures("relative")
def test_removing_removes_the_link(folder: Path, outside: Path) -> None:
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints" / "inner").symlink_to(outside.parent)
    (folder / "link").symlink_to(outside.parent)
    for name in ("checkpoints", "link", "absent"):
        (SafePath(folder) / name).remove()
    assert os.listdir(folder) == [] and outside.read_bytes() == SECRET


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/passwd", "../x", "a\0b"])
def test_a_name_that_leads_out_is_refused(name: str, folder: Path) -> None:
    with pytest.raises(NotTrusted):
        _ = SafePath(folder) / name


@pytest.mark.usefixtures("relative")
def test_a_hard_link_is_not_appended_to_and_is_replaced_alone(folder: Path, outside: Path) -> None:
    os.link(outside, folder / "metrics.jsonl")
    with pytest.raises(NotTrusted, match="hard link"):
        (SafePath(folder) / "metrics.jsonl").append_utf8("row")
    (SafePath(folder) / "metrics.jsonl").write(b"new")
    assert outside.read_bytes() == SECRET


@pytest.mark.usefixtures("relative")
def test_sizes_are_bounded(folder: Path) -> None:
    with (folder / "big").open("wb") as file:
        file.truncate(1 << 40)  # nothing of it is on disk
    with pytest.raises(NotTrusted, match="larger than"):
        (SafePath(folder) / "big").read()
    (folder / "small").write_bytes(b"12345")
    assert (SafePath(folder) / "small").read(5) == b"12345"
    with pytest.raises(NotTrusted, match="larger than 4 bytes"):
        (SafePath(folder) / "small").read(4)


@pytest.mark.usefixtures("relative")
def test_files_are_written_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = SafePath(folder) / "run.json"
    place.write(b"old")
    os.chmod(folder / "run.json", 0o640)
    place.write(b"new")
    assert place.read() == b"new" and stat.S_IMODE((folder / "run.json").stat().st_mode) == 0o640

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(os, "fsync", full)
        place.write(b"newer")
    assert place.read() == b"new" and os.listdir(folder) == ["run.json"]
    place.append_utf8(" and more")
    assert place.read_utf8() == "new and more"
    assert (SafePath(folder) / "pictures").names() == []


def test_a_file_that_the_user_named_is_written_through_links(folder: Path, outside: Path) -> None:
    (folder / "out.html").symlink_to(outside)
    write(folder / "out.html", b"page")
    assert outside.read_bytes() == b"page" and (folder / "out.html").is_symlink()
    write(folder / "deep" / "er" / "out.html", b"page")
    assert (folder / "deep" / "er" / "out.html").read_bytes() == b"page"
    write(Path("/dev/null"), b"page")


# -------------------------------------------------------------------- the cache


def _cache_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return cache_folder().path


def test_a_cache_of_ones_own_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _cache_in(folder, monkeypatch) == folder / "energyc"
    assert stat.S_IMODE((folder / "energyc").stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_cache_that_others_may_write_is_not_used(mode: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "energyc").mkdir()
    (folder / "energyc").chmod(mode)
    with pytest.warns(RuntimeWarning, match="nothing is kept for another process: others may write into"):
        place = _cache_in(folder, monkeypatch)
    assert folder not in place.parents and stat.S_IMODE(place.stat().st_mode) == 0o700
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _cache_in(folder, monkeypatch) == place, "said once"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives folders away")
@pytest.mark.parametrize("inner", [True, False], ids=["the cache", "what it is in"])
def test_a_cache_of_another_user_is_not_used(inner: bool, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "energyc").mkdir(mode=0o700)
    os.chown(folder / "energyc" if inner else folder, 4321, -1)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert folder not in _cache_in(folder, monkeypatch).parents


def test_a_shared_folder_above_is_harmless_only_if_it_is_sticky(folder: Path) -> None:
    (folder / "shared" / "energyc").mkdir(parents=True, mode=0o700)
    (folder / "shared" / "energyc").chmod(0o700)
    (folder / "shared").chmod(0o1777)
    assert distrusted(folder / "shared" / "energyc") == ""
    (folder / "shared").chmod(0o777)
    assert "others may write into" in distrusted(folder / "shared" / "energyc")


def test_without_a_home_a_private_cache_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.warns(RuntimeWarning, match="no home"):
        assert cache_folder().path.is_dir()
