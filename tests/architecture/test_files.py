"""One layer for every file that is not the user's own source: ``energyc/files.py``. Nothing else opens such a file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2] / "energyc"
#: Methods of a path that open, make, move or remove, and functions of modules that do.
METHODS = frozenset(
    "read_text read_bytes write_text write_bytes unlink rename touch rmdir symlink_to hardlink_to".split()
)
FUNCTIONS = frozenset(
    "os.open os.replace os.rename os.unlink os.remove os.link os.symlink os.truncate shutil.rmtree shutil.copy "
    "shutil.copytree shutil.move pickle.load pickle.loads torch.load gzip.open numpy.load np.load io.open".split()
)
#: What may, and what it opens: files of the installation, those that the user named, temporary ones of its own.
OPENERS = {
    "files.py": "the layer itself",
    "extras.py": "files of the installation",
    "kept.py": "files of the installation",
    "checker/__main__.py": "the user's certificates and spec; it imports nothing of energyc",
    "language/syntax/read.py": "the user's spec, or standard input",
    "language/syntax/grammar.py": "files of the installation",
    "resources.py": "files of the installation",
    "code/module/runtime_classes.py": "files of the installation",
    "code/module/standalone.py": "files of the installation",
    "runtime/rules/__init__.py": "files of the installation",
    "surfaces/html/pages.py": "files of the installation",
    "surfaces/lsp/words.py": "files of the installation",
    "surfaces/api/files.py": "files of the installation",
    "surfaces/api/compile.py": "the package that it would replace",
    "surfaces/report/catalogue.py": "files of the installation",
    "surfaces/cli/candidates.py": "files of the installation, and specs for completion",
    "runtime/kernels/library.py": "headers of the installation, and a temporary folder of its own",
    "studies/hardware/spice.py": "a temporary folder of its own",
    "running/training/identity.py": "the user's data",
    "running/data/files.py": "the user's data",
    "running/data/shipped.py": "files of the installation",
    "running/data/pictures.py": "the user's data",
    "running/data/matlab.py": "the user's data, by data/files.py",
    "running/folder/layout.py": "the empty folders that it made",
    "running/loggers/tensorboard_log.py": "a new file of its own, opened exclusively",
    "running/training/signals.py": "/dev/null",
    "surfaces/cli/failures.py": "/dev/null",
}


def _name(node: ast.expr) -> str:
    return f"{_name(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _opened(tree: ast.Module) -> Iterator[str]:
    """Calls that open, move or remove a file; of a ``SafePath`` they are the layer's own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = _name(node.func)
            if name == "open" or name in FUNCTIONS:
                yield f"{node.lineno}: {name}"
            elif isinstance(node.func, ast.Attribute) and (node.func.attr in METHODS or _opens(node)):
                yield f"{node.lineno}: .{node.func.attr}"


def _opens(call: ast.Call) -> bool:
    """``path.open("rb")``, and not ``adapter.open(options, path)``."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "open" and len(call.args) < 2


def test_nothing_else_opens_files() -> None:
    found = {
        str(path.relative_to(ROOT)): list(_opened(ast.parse(path.read_text()))) for path in sorted(ROOT.rglob("*.py"))
    }
    assert not {name: places for name, places in found.items() if places and name not in OPENERS}
    assert not [name for name in OPENERS if not found.get(name)], "what opens nothing need not be listed"
