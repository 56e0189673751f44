"""The runtime as source: cut into definitions, carried by a module verbatim, or imported by it."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch

import energyc.runtime
import energyc.runtime.rules
from energyc import pipeline
from energyc.code.emit import instantiate
from energyc.code.emit.library import library
from energyc.resources import folder
from energyc.runtime.rules import RULES
from energyc.studies.verify import random_probe

PACKAGES = [Path(str(package.__file__)).parent for package in (energyc.runtime, energyc.runtime.rules)]
FILES = [file for package in PACKAGES for file in sorted(package.glob("*.py")) if file.stem != "__init__"]


def test_a_name_is_defined_once() -> None:
    """A module carries definitions of all files in one scope."""
    names: Counter[str] = Counter()
    for file in FILES:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                names[node.name] += 1
            if isinstance(node, ast.Assign):
                names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    assert [name for name, count in names.items() if count > 1] == []
    assert names.keys() == library().definitions.keys()


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_the_runtime_imports_the_standard_library_torch_and_itself(file: Path) -> None:
    allowed = {*sys.stdlib_module_names, "torch"}
    tree = ast.parse(file.read_text())
    tried = {n for node in tree.body if isinstance(node, ast.Try) for n in ast.walk(node) if isinstance(n, ast.Import)}
    for node in ast.walk(tree):
        if node in tried:
            assert {alias.name.split(".")[0] for alias in node.names} == {"triton"}  # type: ignore[attr-defined]
            continue
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= allowed
        if isinstance(node, ast.ImportFrom):
            assert str(node.module).startswith("energyc.runtime.") or str(node.module).split(".")[0] in allowed


def test_a_definition_follows_what_it_reads_where_it_is_defined() -> None:
    """Base classes, decorators and aliases are read when the module is loaded."""
    order = list(library().definitions)
    for name, definition in library().definitions.items():
        node = ast.parse(definition.text).body[0]
        at_once = [*getattr(node, "bases", []), *getattr(node, "decorator_list", [])]
        at_once += [node.value] if isinstance(node, ast.Assign) else []
        read = {n.id for root in at_once for n in ast.walk(root) if isinstance(n, ast.Name)}
        assert all(order.index(other) < order.index(name) for other in read & set(order)), name


@pytest.mark.parametrize("name", ["hopfield", "thick", "cet"])
def test_a_module_carries_the_runtime_verbatim_and_only_what_it_needs(name: str) -> None:
    network = pipeline.resolve(pipeline.read(folder("specs") / f"{name}.energy"))
    text = pipeline.emit(network).text
    carried = [d for d in library().definitions.values() if d.text in text]
    body = ast.parse(text).body
    defined = {n.name for n in body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    defined |= {
        target.id for n in body if isinstance(n, ast.Assign) for target in n.targets if isinstance(target, ast.Name)
    }
    assert {d.name for d in carried} <= defined
    assert ("circled" in defined, "nudged_complex" in defined, "newton_step" in defined) == (False, False, False)
    assert ("centred" in defined) == any(RULES[rule].contrasts for rule in ("centered-ep", "tracking-aep"))


@pytest.mark.parametrize("name", ["hopfield", "thick"])
def test_the_network_is_the_same_with_its_runtime_copied_and_imported(name: str) -> None:
    choices = pipeline.Choices("verify")
    network = pipeline.resolve(pipeline.read(folder("specs") / f"{name}.energy"), choices)
    own, gradients = [], []
    for runtime in ("copy", "import"):
        compiled = pipeline.emit(network, pipeline.ALL, choices, runtime=runtime)  # type: ignore[arg-type]
        net = instantiate(compiled.text, compiled.class_name, dtype=torch.float64)
        (equations,) = (
            n for n in ast.parse(compiled.text).body if getattr(n, "name", "") == f"{compiled.class_name}Equations"
        )
        own.append(ast.get_source_segment(compiled.text, equations))
        probe = random_probe(net, batch=2, seed=1)
        gradients.append(
            {rule: net.gradients(probe.clamps, probe.targets, rule, allow_biased=True).params for rule in net.rules}
        )
    assert own[0] == own[1]
    for rule, params in gradients[0].items():
        assert all(torch.equal(value, gradients[1][rule][param]) for param, value in params.items()), rule


def test_what_the_catalogue_reads_is_what_the_rules_declare() -> None:
    for declared in RULES.values():
        module = declared.module
        rule = getattr(__import__(f"energyc.runtime.rules.{module}", fromlist=[module]), module)
        facts = (declared.name, declared.place, declared.exact, declared.settings, declared.order, declared.instead)
        assert facts == (rule.name, rule.place, rule.exact, rule.settings, rule.order, rule.instead)
        assert declared.needs == set(rule.needs)
        assert declared.mathematics
