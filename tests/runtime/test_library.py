"""The runtime as source: cut into definitions, carried by a module verbatim, or imported by it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import energyc.runtime
from energyc import pipeline
from energyc.code.module import instantiate
from energyc.code.module.library import library
from energyc.resources import folder
from energyc.runtime.rules import RULES
from energyc.studies.verify import random_probe
from tests.runtime.alone import made, measured

ROOT = Path(str(energyc.runtime.__file__)).parent
FILES = [ROOT.parent / "files.py", *(file for file in sorted(ROOT.rglob("*.py")) if file.stem != "__init__")]


def test_a_name_is_defined_once() -> None:
    """A module carries definitions of all files in one scope."""
    names: Counter[str] = Counter()
    for file in FILES:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                names[node.name] += 1
            if isinstance(node, ast.Assign):
                assert all(isinstance(target, ast.Name) for target in node.targets), "only a plain name is carried"
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
            assert (
                str(node.module).startswith(("energyc.runtime.", "energyc.files"))
                or str(node.module).split(".")[0] in allowed
            )


def test_a_definition_follows_what_it_reads_where_it_is_defined() -> None:
    """Base classes, decorators and aliases are read when the module is loaded."""
    order = list(library().definitions)
    for name, definition in library().definitions.items():
        node = ast.parse(definition.text).body[0]
        at_once = [*getattr(node, "bases", []), *getattr(node, "decorator_list", [])]
        at_once += [node.value] if isinstance(node, ast.Assign) else []
        read = {n.id for root in at_once for n in ast.walk(root) if isinstance(n, ast.Name)}
        assert all(order.index(other) < order.index(name) for other in read & set(order)), name


#: The shipped specs.
NAMES = sorted(path.stem for path in folder("specs").glob("*.energy"))


def emitted(name: str, **settings: object) -> str:
    """The module of a shipped spec, which carries its runtime."""
    choices = pipeline.Choices("verify", {key.replace("_", ".", 1): value for key, value in settings.items()})
    return pipeline.emit(
        pipeline.resolve(pipeline.read(folder("specs") / f"{name}.energy"), choices), None, choices
    ).text


def defined(text: str) -> set[str]:
    """The names at the head of a module, and the members of its classes as ``Class.member``."""
    body = ast.parse(text).body
    names = {node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    names |= {f"{k.name}.{m.name}" for k in body if isinstance(k, ast.ClassDef) for m in k.body if hasattr(m, "name")}
    return names | {t.id for n in body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}


@pytest.mark.abridged
@pytest.mark.parametrize("name", ["hopfield", "thick", "cet"])
def test_a_module_carries_only_what_it_reaches_in_the_words_of_the_runtime(name: str) -> None:
    """Statements are left out and conditions decided: every line is one of the runtime, or a part of one."""
    text = emitted(name)
    names = defined(text)
    for function in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)):
        found = library().definitions.get(function.name)
        if found is not None and function.col_offset == 0:
            (own,) = ast.parse(found.text).body
            assert isinstance(own, ast.FunctionDef)
            assert ast.dump(function.args) == ast.dump(own.args), function.name
            assert {type(node) for node in ast.walk(function)} <= {type(node) for node in ast.walk(own)} | {ast.Name}
    away = {
        "circled",
        "nudged_complex",
        "newton_step",
        "Graphs",
        "find_non_convergence",
        "ThroughSteps",
        "described",
        "EarlyExit",
    }
    assert not away & names
    assert not {"EnergyNetwork.non_convergence", "EnergyNetwork.draw_noise", "Equations._force_jvp"} & names
    assert {"EnergyNetwork.relax", "EnergyNetwork.gradients", "EnergyNetwork.forward", "gmres"} <= names
    assert ("centred" in names) == any(RULES[rule].contrasts for rule in ("centered-ep", "tracking-aep"))


@pytest.mark.abridged(every=6)
@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({"relax_solver": "anderson"}, {"Anderson"}),
        ({"relax_solver": "blocks"}, {"Blocks", "move_block_"}),
        ({"relax_solver": "newton"}, {"Newton", "solved_step"}),
        ({"relax_step": "auto"}, {"CurvatureStepSize"}),
        ({"relax_exit": "early"}, {"EarlyExit"}),
        ({"relax_exit": "inference"}, {"EarlyExit", "InferenceExit"}),
        ({"relax_patience": 2}, {"Patience"}),
        ({"relax_measure": "energy"}, {"energy_change"}),
        ({"nudge_snapshots": 3}, {"ContrastSnapshots"}),
        ({"nudge_together": "true"}, {"JointPair"}),
        ({"train_residual_defence": 0.1}, {"residual_defence"}),
    ],
)
def test_a_setting_brings_its_part(settings: dict[str, object], parts: set[str]) -> None:
    assert parts <= defined(emitted("cet", **settings))
    assert not parts & defined(emitted("cet"))


#: The specs that have small sizes.
SMALL = [name for name in NAMES if "preset verify" in (folder("specs") / f"{name}.energy").read_text()]
#: Settings each of which brings other parts, or other sides of what is decided.
OTHERS: list[dict[str, object]] = [
    {"relax.solver": "anderson"},
    {"relax.solver": "newton"},
    {"relax.solver": "blocks"},
    {"relax.step": "auto"},
    {"relax.exit": "early"},
    {"relax.exit": "inference"},
    {"relax.patience": 2},
    {"relax.measure": "energy"},
    {"relax.products": "bfloat16"},
    {"nudge.snapshots": 3},
    {"nudge.together": "true"},
    {"nudge.beta": 0.1},
    {"train.residual_defence": 0.1},
]
QUICK = ("hopfield", "thick", "cet")
ALONE = [
    *(pytest.param(name, {}, id=name, marks=[] if name in QUICK else pytest.mark.slow) for name in SMALL),
    *(pytest.param("hopfield", own, id=str(own), marks=pytest.mark.slow) for own in OTHERS),
]


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize(("name", "settings"), ALONE)
def test_what_a_module_carries_is_enough_without_energyc(
    name: str, settings: dict[str, object], tmp_path: Path
) -> None:
    """All that the contract names, in a process of its own, bit for bit as where energyc lends the whole runtime."""
    choices = pipeline.Choices("verify", settings)
    network = pipeline.resolve(pipeline.read(folder("specs") / f"{name}.energy"), choices)
    compiled = pipeline.emit(network, None, choices)
    net = instantiate(compiled.text, compiled.class_name, dtype=torch.float64, seed=1)
    probe = random_probe(net, batch=2, seed=1)
    module, given, taken = tmp_path / "made.py", tmp_path / "given", tmp_path / "taken"
    module.write_text(compiled.text)
    torch.save((probe.clamps, probe.targets), given)
    arguments = [str(module), compiled.class_name, str(given), str(taken)]
    subprocess.run([sys.executable, str(Path(__file__).parent / "alone.py"), *arguments], check=True, cwd=tmp_path)
    found, lent = torch.load(taken), measured(net, probe.clamps, probe.targets)
    assert len(found) == len(lent)
    assert all(map(torch.equal, found, lent))


def test_what_a_module_does_not_carry_is_lent_where_energyc_loads_it() -> None:
    text = emitted("hopfield")
    net = instantiate(text, "Hopfield", dtype=torch.float64)
    probe = random_probe(net, batch=2, seed=1)
    assert net.non_convergence(probe.clamps) is None or net.non_convergence(probe.clamps).why
    net.relax_exit, net.relax_solver = "early", "anderson"
    assert bool((net.relax(probe.clamps).residual <= net.relax_tolerance).all())
    assert "states: s [9], y [4]" in repr(net)
    assert net.graphs is not None


WRONG: dict[str, Callable[[Any, dict[str, Any], dict[str, Any]], object]] = {
    "no clamps": lambda net, clamps, aims: net.relax(None),
    "a clamp that is not there": lambda net, clamps, aims: net.relax({**clamps, "nothing": torch.zeros(2)}),
    "a clamp that is missing": lambda net, clamps, aims: net.relax({}),
    "a clamp twice": lambda net, clamps, aims: net(clamps, x=clamps["x"]),
    "another shape": lambda net, clamps, aims: net.relax({"x": clamps["x"][:, :1]}),
    "one sample without its axis": lambda net, clamps, aims: net.relax({"x": clamps["x"][0]}),
    "no sample": lambda net, clamps, aims: net.relax({"x": clamps["x"][:0]}),
    "complex numbers": lambda net, clamps, aims: net.relax({"x": clamps["x"] + 1j}),
    "not finite": lambda net, clamps, aims: net.relax({"x": clamps["x"] / 0}),
    "not numbers": lambda net, clamps, aims: net.relax({"x": "x"}),
    "sparse": lambda net, clamps, aims: net.relax({"x": clamps["x"].to_sparse()}),
    "other samples": lambda net, clamps, aims: net.gradients(clamps, {"label": aims["label"][:1]}),
    "a class out of range": lambda net, clamps, aims: net.gradients(clamps, {"label": aims["label"] + 100}),
    "a class that is not whole": lambda net, clamps, aims: net.gradients(clamps, {"label": aims["label"] + 0.5}),
    "a state that is not there": lambda net, clamps, aims: net.energy({"z": torch.zeros(2, 1)}, clamps),
    "steps": lambda net, clamps, aims: net.relax(clamps, steps=-1),
    "a step": lambda net, clamps, aims: net.relax(clamps, step=0.0),
    "a tolerance": lambda net, clamps, aims: net.relax(clamps, tolerance="small"),
    "a record": lambda net, clamps, aims: net.relax(clamps, record="nothing"),
    "a rule": lambda net, clamps, aims: net.gradients(clamps, aims, "nothing"),
    "a strength": lambda net, clamps, aims: net.gradients(clamps, aims, beta=0.0),
    "nudged steps": lambda net, clamps, aims: net.gradients(clamps, aims, nudge_steps="many"),
    "points": lambda net, clamps, aims: net.gradients(clamps, aims, points=0),
    "a way": lambda net, clamps, aims: net(clamps, rule="nothing"),
    "a correction": lambda net, clamps, aims: net.correction(
        net.relax(clamps).states, net.relax(clamps).states, clamps
    ),
}


def test_what_a_module_chose_is_not_chosen_again(tmp_path: Path) -> None:
    path = tmp_path / "made.py"
    path.write_text(emitted("hopfield"))
    net = made(str(path)).Hopfield()
    with pytest.raises(ValueError, match="relax_solver was chosen when this module was compiled"):
        net.relax_solver = "anderson"
    net.relax_tolerance = 1e-3
    assert net.relax_tolerance == 1e-3


def test_a_module_alone_says_what_is_wrong_as_where_the_runtime_is_lent(tmp_path: Path) -> None:
    text = emitted("hopfield")
    path = tmp_path / "made.py"
    path.write_text(text)
    alone, net = made(str(path)).Hopfield(dtype=torch.float64), instantiate(text, "Hopfield", dtype=torch.float64)
    assert type(alone).relax is not type(net).relax
    probe = random_probe(net, batch=2, seed=1)
    for name, call in WRONG.items():
        said = []
        for each in (alone, net):
            with pytest.raises((ValueError, RuntimeError)) as error:
                call(each, dict(probe.clamps), dict(probe.targets))
            said.append(str(error.value))
        assert said[0] == said[1], name


def test_a_part_that_a_module_does_not_carry_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "made.py"
    path.write_text(emitted("hopfield"))
    net = made(str(path)).Hopfield(dtype=torch.float64)
    probe = random_probe(net, batch=2, seed=1)
    with pytest.raises(ValueError, match="was compiled without the differentiation 'bptt'"):
        net(probe.clamps, rule="bptt")


@pytest.mark.abridged
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
        rule = getattr(__import__(f"energyc.runtime.rules.{module}", fromlist=[module]), module).declared
        facts = (declared.name, declared.place, declared.exact, declared.settings, declared.order, declared.instead)
        assert facts == (rule.name, rule.place, rule.exact, rule.settings, rule.order, rule.instead)
        assert declared.needs == set(rule.needs)
        assert declared.mathematics
