"""The commands that install something here."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys

#: How package managers of systems install a C++ compiler; the first that is found is taken.
_COMPILERS = {
    "apt-get": "apt-get install -y g++",
    "dnf": "dnf install -y gcc-c++",
    "pacman": "pacman -S --noconfirm gcc",
    "zypper": "zypper install -y gcc-c++",
    "apk": "apk add g++",
}


def pip_install(*requirements: str) -> str:
    """Return the command that installs packages for this Python, by uv where there is no pip."""
    quoted = " ".join(f"'{requirement}'" for requirement in requirements)
    python = shlex.quote(sys.executable or "python3")
    if importlib.util.find_spec("pip") is None and shutil.which("uv"):
        return f"uv pip install --python {python} {quoted}"
    return f"{python} -m pip install {quoted}"


def compiler_install() -> str | None:
    """Return the command that installs a C++ compiler, or None on a system that is not known."""
    if sys.platform == "darwin":
        return "xcode-select --install"
    found = next((command for manager, command in _COMPILERS.items() if shutil.which(manager)), None)
    may = not hasattr(os, "geteuid") or os.geteuid() == 0
    return found if found is None or may else f"sudo {found}"
