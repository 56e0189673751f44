"""Files that are not the user's own source: the folders of runs, caches, what commands write.

Nothing that lies in such a folder is trusted. Below it only regular files are read, up to a size; no link is followed;
names stay inside; and a file is written anew, synchronised and renamed, so that a crash, a kill or a full disk leaves
the old bytes or the new ones. docs/security.md says what energyc trusts.

Imports: nothing.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import json
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

#: Bytes of the largest file that is read, unless its reader knows better.
LARGEST = 256 << 20
#: Opened, and never followed, waited for or handed to another process.
_SAFELY = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))
_AS_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
#: Whether a name can be looked up in an open folder; Windows cannot, and looks at each part of a path instead.
_RELATIVE = os.open in os.supports_dir_fd
_KINDS = {
    stat.S_IFLNK: "a symbolic link, which is not followed here",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class NotTrusted(OSError):
    """A file that is not read or written: a link, a pipe, a name outside of its folder, a size beyond the limit."""


@dataclass(frozen=True)
class SafePath:
    """A path below ``root``, a folder of which only the name is trusted.

    It is used as a ``Path``, and raises what a ``Path`` raises; NotTrusted, an OSError too, is raised where something
    below ``root`` is not what it should be.
    """

    root: Path
    parts: tuple[str, ...] = ()

    def __truediv__(self, name: str) -> SafePath:
        """The path of a name in this folder. Raises NotTrusted for a name that leads out of it."""
        if name in ("", ".", "..") or "\0" in name or any(sign in name for sign in (os.sep, os.altsep) if sign):
            raise NotTrusted(errno.EINVAL, "not the name of a file in this folder", name)
        return SafePath(self.root, (*self.parts, name))

    def __str__(self) -> str:
        return str(self.path)

    @property
    def path(self) -> Path:
        """The path for messages, and for what the user opens."""
        return self.root.joinpath(*self.parts)

    @property
    def parent(self) -> SafePath:
        """The folder that it is in; the root is its own."""
        return SafePath(self.root, self.parts[:-1])

    @property
    def suffix(self) -> str:
        """The ending of the name, with its dot."""
        return self.path.suffix

    @property
    def stem(self) -> str:
        """The name without its ending."""
        return self.path.stem

    @property
    def name(self) -> str:
        """The last part."""
        return self.parts[-1] if self.parts else self.root.name

    # -------------------------------------------------------------------- looking

    def exists(self) -> bool:
        """Whether anything is there, a broken link too."""
        return self._status() is not None

    def is_dir(self) -> bool:
        """Whether a folder is there, and not a link to one."""
        status = self._status()
        return status is not None and stat.S_ISDIR(status.st_mode)

    def is_private(self) -> bool:
        """Whether a file is there that this user alone may write."""
        status = self._status()
        if status is None or not stat.S_ISREG(status.st_mode):
            return False
        others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not others)

    def names(self, pattern: str = "*") -> list[str]:
        """The names in a folder that fit a pattern, sorted; none where there is no folder. Raises OSError."""
        try:
            with self._opened_folder(self.parts) as folder:
                found = os.listdir(self.path if folder is None else folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(name for name in found if fnmatch(name, pattern))

    def _status(self) -> os.stat_result | None:
        if not self.parts:
            return os.stat(self.root) if self.root.exists() else None
        with suppress(FileNotFoundError, NotADirectoryError), self._inside() as (name, folder):
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
        return None

    def keep_newest(self, pattern: str, most: int) -> None:
        """Remove the files of a folder that fit a pattern and were written before the last ``most``. Raises OSError."""
        names = self.names(pattern)
        if len(names) <= most:
            return
        with self._opened_folder(self.parts) as folder:
            for name in sorted(names, key=lambda name: _written(name, self.path, folder))[:-most]:
                with suppress(FileNotFoundError):  # another process removes them too
                    os.unlink(name if folder is not None else self.path / name, dir_fd=folder)

    # -------------------------------------------------------------------- reading

    def read(self, most: int = LARGEST) -> bytes:
        """The content of a regular file of at most ``most`` bytes. Raises OSError, MemoryError."""
        with self._open(os.O_RDONLY) as handle:
            size = os.fstat(handle).st_size
            if size > most:
                raise NotTrusted(errno.EFBIG, f"larger than {most:,} bytes", str(self))
            with open(handle, "rb", closefd=False) as file, reserving(size, str(self)):
                return file.read(size)

    def read_utf8(self, most: int = LARGEST, errors: str = "strict") -> str:
        """The text of a file in UTF-8. Raises OSError, UnicodeDecodeError."""
        return self.read(most).decode("utf-8", errors)

    # -------------------------------------------------------------------- writing

    def write(self, content: bytes, mode: int | None = None) -> None:
        """Replace a file, or make it, with a mode. Raises OSError: PermissionError where it is read-only.

        By default it keeps the mode that it has.
        """
        with self._inside() as (name, folder):
            own = self._mode_to_keep()
            mode = own if mode is None else mode
            # The name is short enough for the system and unique to this process.
            unfinished = self._beside(name, f".{self.name[:40]}.{os.getpid()}.new")
            try:
                _write_new(unfinished, content, mode, folder)
                os.replace(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(unfinished, dir_fd=folder)
                raise
            _synchronise(folder)

    def write_utf8(self, text: str) -> None:
        """Replace a file by a text in UTF-8. Raises OSError."""
        self.write(text.encode())

    def append_utf8(self, text: str) -> None:
        """Add to the end of a file of this folder alone, or make it. Raises OSError."""
        with self._open(os.O_WRONLY | os.O_APPEND | os.O_CREAT) as handle:
            if os.fstat(handle).st_nlink > 1:
                raise NotTrusted(errno.EMLINK, "another name of a file that may be elsewhere (a hard link)", str(self))
            with open(handle, "ab", closefd=False) as file:
                file.write(text.encode())

    def mkdir(self) -> None:
        """Make a folder, unless it is there. Raises OSError."""
        if not self.parts:
            return
        with self._inside() as (name, folder), suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
        with self._opened_folder(self.parts):
            pass  # it is a folder, and no link to one

    def move(self, new: str) -> SafePath:
        """Give another name in the same folder, which replaces a file or an empty folder there. Raises OSError."""
        renamed = SafePath(self.root, self.parts[:-1]) / new
        with self._inside() as (name, folder):
            os.replace(name, self._beside(name, new), src_dir_fd=folder, dst_dir_fd=folder)
            _synchronise(folder)
        return renamed

    def remove(self) -> None:
        """Remove a file, a link or a folder with all that is in it; nothing where there is none. Raises OSError."""
        status = self._status()
        with self._inside() as (name, folder):
            if status is not None and stat.S_ISDIR(status.st_mode):
                shutil.rmtree(name, dir_fd=folder)
            elif status is not None:
                os.unlink(name, dir_fd=folder)

    # -------------------------------------------------------------------- within

    def _mode_to_keep(self) -> int:
        """The mode of the file that is replaced; that of new files where there is none."""
        status = self._status()
        if status is None:
            return 0o666
        _require_regular(status, self)
        if not os.access(self.path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))
        return stat.S_IMODE(status.st_mode)

    @contextmanager
    def _open(self, flags: int) -> Iterator[int]:
        """The open file, which is a regular one."""
        with self._inside() as (name, folder):
            status = self._status()
            if status is not None:
                _require_regular(status, self)
            handle = os.open(name, flags | _SAFELY, 0o666, dir_fd=folder)
        try:
            _require_regular(os.fstat(handle), self)
            yield handle
        finally:
            os.close(handle)

    @contextmanager
    def _inside(self) -> Iterator[tuple[str, int | None]]:
        """The name to look up and the open folder that it is looked up in; or the whole path, and None."""
        with self._opened_folder(self.parts[:-1]) as folder:
            yield (str(self) if folder is None else self.parts[-1]), folder

    @contextmanager
    def _opened_folder(self, parts: tuple[str, ...]) -> Iterator[int | None]:
        """An open folder below the root, reached without following a link; None where the system has no such thing."""
        if not _RELATIVE:
            _require_folders(self.root, parts)
            yield None
            return
        handle = os.open(self.root, _AS_FOLDER)
        try:
            for k, part in enumerate(parts):
                handle, outer = _subfolder(handle, part, self.root.joinpath(*parts[: k + 1])), handle
                os.close(outer)
            yield handle
        finally:
            os.close(handle)

    def _beside(self, name: str, other: str) -> str:
        """Another name in the folder that a name is looked up in."""
        return other if name == self.parts[-1] else str(self.path.with_name(other))


@contextmanager
def reserving(size: int, path: str) -> Iterator[None]:
    """Name the file and its size where memory for its content cannot be allocated. Raises MemoryError."""
    try:
        yield
    except MemoryError:
        raise MemoryError(f"{path} has {size:,} bytes") from None


#: Where something is written: a path that the user named, or one below a folder that is not trusted.
Place = Path | SafePath


def write(place: Place, content: bytes) -> None:
    """Replace a file, and make its folder. Raises OSError.

    Of a path that the user named links are followed, and what is not a file, as /dev/stdout, is written to.
    """
    if isinstance(place, SafePath):
        place.parent.mkdir()
        place.write(content)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    target = Path(os.path.realpath(place))
    if place.exists() and not target.is_file():
        place.write_bytes(content)
    else:
        (SafePath(target.parent) / target.name).write(content)


def _written(name: str, path: Path, folder: int | None) -> float:
    """When a file of a folder was written; that of one that is gone by now long ago."""
    with suppress(FileNotFoundError):
        at = name if folder is not None else path / name
        return os.stat(at, dir_fd=folder, follow_symlinks=False).st_mtime
    return 0.0


def _write_new(name: str, content: bytes, mode: int, folder: int | None) -> None:
    """Make a file, in place of one that a killed process of this number left, and wait until it is on disk."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY, mode, dir_fd=folder)
    with open(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(handle)


def _synchronise(folder: int | None) -> None:
    """Make the names in a folder durable where the system can."""
    if folder is not None:
        os.fsync(folder)


def _subfolder(folder: int, name: str, path: Path) -> int:
    try:
        return os.open(name, _AS_FOLDER | _SAFELY, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            raise NotTrusted(error.errno, kind_of(mode), str(path)) from None
        raise


def _require_folders(root: Path, parts: tuple[str, ...]) -> None:
    for k in range(len(parts)):
        path = root.joinpath(*parts[: k + 1])
        mode = os.lstat(path).st_mode
        if not stat.S_ISDIR(mode):
            raise NotTrusted(errno.ENOTDIR, kind_of(mode), str(path))


def _require_regular(status: os.stat_result, path: SafePath) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotTrusted(errno.EINVAL, kind_of(status.st_mode), str(path))


def kind_of(mode: int) -> str:
    """Return in words what has a mode of ``os.stat``: "a folder", "a pipe"."""
    return _KINDS.get(stat.S_IFMT(mode), "a file" if stat.S_ISREG(mode) else "not a file")


# -------------------------------------------------------------------- the cache


def cache_place() -> Path:
    """The path ``$XDG_CACHE_HOME/energyc`` or ``~/.cache/energyc``. Raises RuntimeError where there is no home."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "energyc"


def cache_folder() -> SafePath:
    """The folder at ``cache_place``; a private one for this process, with a warning, where that is not to be trusted.

    What is kept there is run, so that nobody else may be able to write it.
    """
    try:
        return _folder_at(cache_place())
    except RuntimeError as error:  # no home
        return _private_folder(str(error))


@cache
def _folder_at(place: Path) -> SafePath:
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        why = distrusted(place) or ("" if os.access(place, os.W_OK) else f"{place} cannot be written")
    except OSError as error:
        why = f"{error.filename or place}: {error.strerror or error}"
    return _private_folder(why) if why else SafePath(place)


def distrusted(place: Path) -> str:
    """Why somebody else could have written into a folder, or could put another in its place; empty if nobody could."""
    if not hasattr(os, "geteuid"):
        return ""
    folder = place.resolve()
    for each in (folder, *folder.parents):
        status, shared = each.stat(), stat.S_IWOTH | (stat.S_IWGRP if each == folder else 0)
        sticky = each != folder and status.st_mode & stat.S_ISVTX
        if status.st_uid not in {os.geteuid(), *([] if each == folder else [0])}:
            return f"{each} belongs to another user"
        if status.st_mode & shared and not sticky:
            return f"others may write into {each}"
    return ""


@cache
def _private_folder(why: str) -> SafePath:
    """A folder for this process alone, which ends with it; a warning says why."""
    warnings.warn(f"nothing is kept for another process: {why}", RuntimeWarning, stacklevel=4)
    folder = tempfile.mkdtemp(prefix="energyc-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return SafePath(Path(folder))


def keep_in_cache(place: SafePath, content: bytes, **about: object) -> None:
    """Write a file of the cache: a line of JSON, with the hash of the content and what else is known ``about`` it.

    The content follows it. Raises OSError.
    """
    head = {"sha256": hashlib.sha256(content).hexdigest(), **about}
    place.write(json.dumps(head).encode() + b"\n" + content, 0o600)


def kept_in_cache(place: SafePath) -> tuple[dict[str, Any], bytes] | None:
    """The line of JSON and the content of a file of the cache; None unless it is what this user kept there."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        if place.is_private():
            line, _, content = place.read().partition(b"\n")
            head: dict[str, Any] = json.loads(line)
            if hashlib.sha256(content).hexdigest() == head["sha256"]:
                return head, content
    return None
