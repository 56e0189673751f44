"""The command that installs a C++ compiler here."""

from __future__ import annotations

import os
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


def compiler_install() -> str | None:
    """Return the command that installs a C++ compiler, or None on a system that is not known."""
    if sys.platform == "darwin":
        return "xcode-select --install"
    found = next((command for manager, command in _COMPILERS.items() if shutil.which(manager)), None)
    may = not hasattr(os, "geteuid") or os.geteuid() == 0
    return found if found is None or may else f"sudo {found}"
