"""The block that routines share: a method that computes it once a call, and the record in which they find it."""

from __future__ import annotations

from energyc.code.plan.shared import Block
from energyc.code.targets.arrays.methods import Lets
from energyc.code.targets.torch.classes import record
from energyc.code.targets.torch.methods import MethodWriter
from energyc.code.tree.statements import Class, Function


def shared_method(methods: MethodWriter, block: Block) -> tuple[Function, Class]:
    """``_lets`` and the record that it gives; the methods that are written afterwards begin with it."""
    class_name, names = methods.context.class_names.lets, methods.context.plan.names
    *others, last = block.routines
    doc = f"The lets, and parts of them, that {', '.join(others)} and {last} share."
    function, recorded = methods.recorded("_lets", class_name, doc, block.statements, block.gives, names, block.outputs)
    methods.lets = Lets(block, recorded)
    return function, record(class_name, "The lets at some states, and parts of them.", recorded.fields)
