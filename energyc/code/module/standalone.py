"""A folder that runs where energyc is not installed: generated modules, and beside them a copy of the runtime.

The copy is the package ``_runtime``. It has ``energyc.runtime``, ``energyc.jax`` or both, as the modules import them,
with files at the places that they have in energyc. Their imports are relative, so that every file is copied as it is. A
module differs in its import alone.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from energyc import version
from energyc.language.diagnostics import UserError
from energyc.resources import resource
from energyc.version import __version__

#: The package that stands in the place of energyc.
PACKAGE = "_runtime"
#: The packages that modules or runtimes import; a folder called like one of them, or of the standard library, hides it.
_LIBRARIES = frozenset({"energyc", "jax", "jaxlib", "numpy", "scipy", "torch", "triton"})
#: The files of each runtime: its own package, and what that imports beside it.
_FILES = {"runtime": ("files.py", "resources.py", "runtime/**/*.py"), "jax": ("jax/*.py",)}
_ABOUT = '"""The runtime of energyc {version}, copied by ``energyc compile --standalone``."""\n'
#: The first words of the package that modules are put into.
OPENING = '"""Networks that energyc '
_MODULES = '''"""Networks that energyc {version} compiled, with the runtime that they need.

{imports}
"""
'''


def standalone(name: str, modules: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return the files of a folder called ``name``: their texts, by their paths in it.

    ``modules`` gives the class and the text of each module by the name of its file. Raises UserError for a name that
    would hide a package from the modules.
    """
    if name in _LIBRARIES or name in sys.stdlib_module_names:
        raise UserError(
            f"a folder called {name} would hide the package {name} from the modules in it",
            help="give the network another name, or compile without --standalone",
        )
    lines = [f"    from {name}.{file.removesuffix('.py')} import {owner}" for file, (owner, _) in modules.items()]
    found = {"__init__.py": _MODULES.format(version=__version__, imports="\n".join(lines))}
    found |= {file: _with_copy(text) for file, (_, text) in modules.items()}
    imported = {kind for kind in _FILES for _, text in modules.values() if f"\nfrom energyc import {kind} as " in text}
    return found | dict(_copied(imported))


def _with_copy(text: str) -> str:
    """The text of a module that imports the copy in the place of energyc."""
    of_package = text.replace("\nfrom energyc import ", f"\nfrom .{PACKAGE} import ")
    return of_package.replace("\nfrom energyc.", f"\nfrom .{PACKAGE}.")


def _copied(imported: Collection[str]) -> Iterator[tuple[str, str]]:
    """The files of the package of the runtimes that are imported."""
    yield f"{PACKAGE}/__init__.py", _ABOUT.format(version=__version__)
    package = Path(version.__file__).parent
    for kind in sorted(imported):
        for path in sorted(path for pattern in _FILES[kind] for path in package.glob(pattern)):
            yield f"{PACKAGE}/{path.relative_to(package).as_posix()}", path.read_text(encoding="utf-8")
    if "runtime" in imported:
        for path in sorted(resource("codegen", "cpp").glob("*.h")):
            yield f"{PACKAGE}/codegen/cpp/{path.name}", path.read_text(encoding="utf-8")
