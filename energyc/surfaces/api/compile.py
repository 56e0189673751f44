"""``energyc.compile``: the generated modules of a spec, one for each target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from energyc.code.module.standalone import OPENING, standalone
from energyc.collection import rarely_collected
from energyc.language.diagnostics import UserError
from energyc.pipeline import Choices, Compiled, compile_spec
from energyc.surfaces.api.files import write_text
from energyc.surfaces.api.result import Result


@dataclass(frozen=True, repr=False)
class Modules(Result):
    """Generated modules, and their files where they were written; ``is_standalone``: the runtime is beside them."""

    modules: tuple[Compiled, ...]
    paths: tuple[Path, ...] = ()
    is_standalone: bool = False

    @property
    def text(self) -> str:
        """The text of the first module."""
        return self.modules[0].text

    @property
    def imports(self) -> tuple[str, ...]:
        """The line of Python that imports the class of each file, from the current folder."""
        return tuple(
            _import_line(path, module.class_name, self.is_standalone)
            for module, path in zip(self.modules, self.paths, strict=True)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Modules whose phases run as torch operations though another target was asked for, with the reasons."""
        return tuple(
            f"{module.file_name}: phases run as torch operations: {module.fallback}"
            for module in self.modules
            if module.fallback is not None
        )

    def to_json(self) -> dict[str, Any]:
        """Return the files with their targets, classes and imports; the texts where nothing was written."""
        if not self.paths:
            texts = [{"target": each.target, "class": each.class_name, "text": each.text} for each in self.modules]
            return {"network": self.modules[0].network.name, "modules": texts}
        files = [
            {"target": module.target, "path": str(path), "class": module.class_name, "import": line}
            for module, path, line in zip(self.modules, self.paths, self.imports, strict=True)
        ]
        return {"network": self.modules[0].network.name, "files": files}

    def to_text(self, *, color: bool = False) -> str:
        """Return the paths, a line each; the texts where nothing was written."""
        shown = map(str, self.paths) if self.paths else (module.text for module in self.modules)
        return "\n".join(shown) + "\n"


@rarely_collected()
def compile(
    spec: str | PathLike[str],
    out: str | Path | None = None,
    *,
    targets: Sequence[str] | str = ("torch",),
    rules: Sequence[str] | str | None = None,
    standalone: bool = False,
    preset: str | None = None,
    dims: Mapping[str, int] | None = None,
    consts: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
) -> Modules:
    """Generate one module for each target, and write them into the folder ``out`` if it is given.

    By default they hold the spec's ``train.rule`` and ``implicit``. A module holds the network's equations and imports
    ``energyc.runtime``, or ``energyc.jax``. With ``standalone`` the folder ``out/NAME`` has a copy of the runtime too,
    and runs where energyc is not installed. Raises SpecError; UserError for a target, a rule, the folder.
    """
    choices = Choices.of(preset, dims, consts, settings)
    targets = (targets,) if isinstance(targets, str) else tuple(targets)
    place = spec if isinstance(spec, str) else Path(spec)
    modules = tuple(compile_spec(place, choices, targets=targets, rules=rules or None))
    if out is None:
        if standalone:
            raise UserError("standalone modules need a folder", code="E0930", help='give out="FOLDER"')
        return Modules(modules)
    write = _write_standalone if standalone else _write_modules
    return Modules(modules, write(Path(out), modules), standalone)


def _import_line(path: Path, name: str, is_standalone: bool) -> str:
    module, folder = path.stem, path.parent
    if is_standalone:
        module, folder = f"{folder.name}.{module}", folder.parent
    line = f"from {module} import {name}"
    return line if folder == Path(".") else f"import sys; sys.path.insert(0, {str(folder)!r}); {line}"


def _write_modules(folder: Path, modules: Sequence[Compiled]) -> tuple[Path, ...]:
    return tuple(write_text(folder / module.file_name, module.text) for module in modules)


def _write_standalone(folder: Path, modules: Sequence[Compiled]) -> tuple[Path, ...]:
    """Write a folder with a network's modules and the runtime; return the paths of the modules."""
    name = modules[0].network.name
    _refuse_other(folder / name / "__init__.py")
    texts = standalone(name, {module.file_name: (module.class_name, module.text) for module in modules})
    for path, text in texts.items():
        write_text(folder / name / path, text)
    return tuple(folder / name / module.file_name for module in modules)


def _refuse_other(package: Path) -> None:
    """Raise UserError E0906 for an ``__init__.py`` that energyc did not write."""
    if package.is_file() and not package.read_text(errors="replace").startswith(OPENING):
        raise UserError(
            f"{package.parent} is a package that energyc did not write",
            code="E0906",
            help="choose another folder",
        )
