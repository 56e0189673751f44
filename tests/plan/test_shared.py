"""The block that routines share: each of them needs all of it, and none of them computes a part of it again."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from energyc import pipeline
from energyc.code.plan import ModulePlan, Passes, plan_module, reached
from energyc.mathematics.ir import Input, walk
from energyc.resources import folder

SPECS = [path for path in sorted(folder("specs").glob("*.energy")) if "layer " not in path.read_text()]


@cache
def planned(path: Path) -> ModulePlan:
    network = pipeline.resolve(pipeline.read(path))
    return pipeline.plan(network, pipeline.classify(network))


def with_block(path: Path) -> ModulePlan:
    module = planned(path)
    if module.block is None:
        pytest.skip("its routines share too little")
    return module


each_spec = pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)


def test_the_block_of_thick_is_its_forward_pass() -> None:
    block = planned(folder("specs") / "thick.energy").block
    assert block is not None
    assert block.routines == ("_force", "_force_vjp", "_force_jvp", "_correction")
    names = planned(folder("specs") / "thick.energy").plan.names
    assert {"n1", "q", "k", "v", "p", "n2"} <= {names.get(node) for node in block.gives}


@pytest.mark.abridged(every=6)
@each_spec
def test_each_routine_needs_all_of_it_without_what_is_summed(path: Path) -> None:
    module = with_block(path)
    assert module.block is not None
    for routine in (r for r in module.plan.routines if r.name in module.block.routines):
        plain = [o.node for o in routine.outputs if not o.summed] or [o.node for o in routine.outputs]
        assert set(module.block.statements) <= set(walk(plain)), routine.name


@pytest.mark.abridged
@each_spec
def test_it_reads_states_and_what_is_fixed_alone(path: Path) -> None:
    module = with_block(path)
    assert module.block is not None
    kinds = {node.kind for node in walk(module.block.statements) if isinstance(node, Input)}
    assert kinds <= {"state", "clamp", "noise", "param", "step", "flag"}


@each_spec
def test_no_routine_computes_a_line_of_it_again(path: Path) -> None:
    module = with_block(path)
    assert module.block is not None
    computed = {*module.plan.constants, *module.plan.fixed}
    inside = set(reached(module.block.statements, computed))
    for routine in (r for r in module.plan.routines if r.name in module.block.routines):
        own = module.block.without(routine)
        beside = set(reached([o.node for o in own.outputs], {*computed, *module.block.statements}))
        assert not inside.intersection(own.statements), routine.name
        assert not {node for node in inside & beside if node in routine.statements}, routine.name


def test_there_is_none_where_there_is_little_to_share() -> None:
    assert planned(folder("specs") / "hopfield.energy").block is None


def test_there_is_none_where_nothing_is_shared() -> None:
    network = pipeline.resolve(pipeline.read(folder("specs") / "thick.energy"))
    assert plan_module(network, ["implicit"], Passes(share=False)).block is None
