"""A step of a phase in Triton: launches of kernels, products and scatters of torch, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from energyc.code.loops import Kernel
from energyc.code.loops.memory import layout
from energyc.code.loops.nest import Block, Buffer, Group, MatrixProduct, written
from energyc.code.module.runtime import runtime
from energyc.code.targets.functions import Functions, constants, constants_of, outside
from energyc.code.targets.names import Names
from energyc.code.targets.sums import size
from energyc.code.targets.triton.dots import PRECISION
from energyc.code.targets.triton.groups import STEPS, function, is_alone
from energyc.code.targets.triton.places import Blocks
from energyc.code.targets.triton.products import product, scattered
from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s
from energyc.mathematics.ir import Node

#: How many kernels the operations of torch start: an einsum that is then copied, a fill that is then added to.
LAUNCHES: Mapping[e.Expr, int] = MappingProxyType({runtime("put_einsum"): 2, runtime("scatter"): 2})
_PARAMETERS = {
    "now": "rt.Tensors",
    "then": "rt.Tensors",
    "given": "rt.Tensors",
    "scalars": "Tensor",
    "memory": "Tensor",
}
_PREPARES = {name: kind for name, kind in _PARAMETERS.items() if name != "then"}


def launches(kernel: Kernel) -> int:
    """How many kernels a device starts for a step, where no operand has to be copied first."""
    return _launches(_made(kernel, Functions(function, "{}_kernel"))[-1].body)


def definitions(kernels: Sequence[Kernel]) -> s.Body:
    """Sizes, the kernels of all groups, each once, and a function for the step of each phase."""
    functions = Functions(function, "{}_kernel")
    steps = [made for kernel in kernels for made in _made(kernel, functions)]
    return (*_constants(constants(kernels, *steps)), *functions.made.values(), *steps)


def phases(kernels: Sequence[Kernel]) -> e.Expr:
    """The object that runs the phases."""
    items = tuple((e.String(kernel.name), _phase(kernel)) for kernel in kernels)
    return e.call(runtime("TritonKernels"), e.Dict(items))


def _constants(known: Mapping[str, float]) -> Iterator[s.Statement]:
    """The sizes of dims, on one line, and the roots of them."""
    if sizes := {name: size for name, size in known.items() if isinstance(size, int)}:
        names, values = tuple(map(e.Name, sizes)), tuple(map(e.Number, sizes.values()))
        yield s.Comment("The sizes of the dims.", documents=True)
        yield s.Assign(e.Tuple(names, bare=True), e.Tuple(values, bare=True))
    yield from (s.Assign(e.Name(name), e.number(root)) for name, root in known.items() if isinstance(root, e.Exact))


def _phase(kernel: Kernel) -> e.Expr:
    """Its step, the entries of memory between launches, and what it reads: for each sample, or by products alone."""
    apart = [block for block in (*kernel.before, *kernel.body) if not isinstance(block, MatrixProduct)]
    steps = [step for block in apart for step in (block.statements if isinstance(block, Group) else (block,))]
    elsewhere = {buffer for step in steps for buffer in step.reads}
    matrices = [k for k, (_, b) in enumerate(kernel.given) if b.integers is None and b not in elsewhere]
    reads = e.Tuple(tuple(map(e.Number, kernel.places.values())))
    keywords: dict[str, e.Expr] = {} if kernel.number is None else {"number": e.Number(kernel.number)}
    batched = [k for k, (_, b) in enumerate(kernel.given) if b.batched]
    for name, places in (("matrices", matrices), ("batched", batched)):
        keywords |= {name: e.SetOf(tuple(map(e.Number, places)))} if places else {}
    keywords |= {"whole": e.Constant(True)} if is_alone(kernel) else {}
    keywords |= {"prepare": _name(kernel, "prepare")} if kernel.before else {}
    keywords |= {"solves": e.Constant(True)} if kernel.walk == "solve" else {}
    entries = e.Number(layout(kernel.body, kernel.before).entries)
    step = _name(kernel, "walk" if is_alone(kernel) else "step")
    return e.call(runtime("PhaseStep"), step, entries, reads, **keywords)


def _name(kernel: Kernel, what: str) -> e.Name:
    return e.Name(f"{kernel.name}_{what}")


def _steps(kernel: Kernel, functions: Functions) -> s.Function:
    """The function that makes all steps of a phase whose states are moved in place."""
    (group,) = kernel.body
    assert isinstance(group, Group)
    given = [buffer for _, buffer in kernel.given]
    own = Names(constants_of(kernel))
    names = {b: own.new(b.name) for b in dict.fromkeys([*kernel.states, *given])}
    names |= {move: names[state] for move, state in zip(kernel.moves, kernel.states, strict=True)}
    body = [_unpacked(kernel.states, names, "states"), *([_unpacked(given, names, "given")] if given else [])]
    body.append(s.Assign(e.Name("n"), e.call("len", e.Name(names[kernel.states[0]]))))
    body.append(s.Do(_launched(kernel, group, names, functions.of(kernel, group))))
    kinds = {"states": "rt.Tensors", "given": "rt.Tensors", "scalars": "Tensor", STEPS.id: "int"}
    parameters = tuple(s.Parameter(name, e.name(kind)) for name, kind in kinds.items())
    doc = (kernel.doc, "", "Launches on a device: 1, whatever the number of steps.")
    return s.Function(_name(kernel, "walk").id, parameters, tuple(body), e.Constant(None), doc)


def _made(kernel: Kernel, functions: Functions) -> list[s.Function]:
    """The functions of a phase: what is computed before its steps, if anything is, and a step, or all."""
    if is_alone(kernel):
        return [_steps(kernel, functions)]
    step = _run(kernel, kernel.body, functions, _name(kernel, "step").id, kernel.doc.replace("Steps", "A step", 1))
    if not kernel.before:
        return [step]
    doc = "What is the same in all steps."
    return [_run(kernel, kernel.before, functions, _name(kernel, "prepare").id, doc, _PREPARES), step]


def _run(
    kernel: Kernel,
    blocks: Sequence[Block],
    functions: Functions,
    name: str,
    doc: str,
    given: Mapping[str, str] = _PARAMETERS,
) -> s.Function:
    """The function that computes blocks once."""
    parts = {"now": kernel.states, "then": kernel.moves, "given": [buffer for _, buffer in kernel.given]}
    places = layout(kernel.body, kernel.before)
    own = Names(constants_of(kernel))
    buffers = [buffer for part in parts.values() for buffer in part]
    names = {b: own.new(b.name) for b in dict.fromkeys([*buffers, *places.offsets])}
    touched = {buffer for block in blocks for buffer in (*block.reads, *written(block))}
    body = [_unpacked(part, names, key) for key, part in parts.items() if key in given and part]
    body.append(s.Assign(e.Name("n"), e.call("len", e.Name(names[kernel.states[0]]))))
    for buffer, at in places.offsets.items():
        if buffer in touched:
            room = e.call(runtime("room"), e.Name("memory"), e.Name("n"), e.Number(at), size(buffer.size))
            body.append(s.Assign(e.Name(names[buffer]), room))
    for block in blocks:
        body += _block(kernel, block, names, functions)
    parameters = tuple(s.Parameter(name, e.name(kind)) for name, kind in given.items())
    text = (doc, "", f"Launches on a device: {_launches(body)}.")
    return s.Function(name, parameters, tuple(body), e.Constant(None), text)


def _block(kernel: Kernel, block: Block, names: Mapping[Buffer, str], functions: Functions) -> Iterator[s.Statement]:
    """The statements that compute a block, under a remark on what that is."""
    if isinstance(block, Group):
        yield s.Do(_launched(kernel, block, names, functions.of(kernel, block)))
        return
    yield from [s.Comment(block.label)] if block.label else []
    if isinstance(block, MatrixProduct):
        yield s.Do(product(block, names))
    else:
        integers: dict[Node, Buffer] = {node: b for node, b in kernel.given if b.integers is not None}
        yield s.Do(scattered(block, names, integers, kernel.sizes))


def _launched(kernel: Kernel, group: Group, names: Mapping[Buffer, str], made: s.Function) -> e.Expr:
    """The call of a group's kernel."""
    buffers = list(dict.fromkeys(names[buffer] for buffer in outside(kernel, group)[0]))
    own = [parameter.name for parameter in made.parameters[len(buffers) :]]
    known = {"samples": e.Name("n"), PRECISION.id: e.call(runtime("dot_precision"))}
    given = [*map(e.Name, buffers), *(known.get(name, e.Name(name)) for name in own)]
    blocks = Blocks.of(group)
    return e.call(e.Name(made.name)[blocks.programs()], *given, **blocks.options)


def _launches(body: Sequence[s.Statement]) -> int:
    calls = [statement.value for statement in body if isinstance(statement, s.Do)]
    return sum(LAUNCHES.get(call.function, 1) for call in calls if isinstance(call, e.Call))


def _unpacked(buffers: Sequence[Buffer], names: Mapping[Buffer, str], value: str) -> s.Statement:
    return s.Assign(e.Tuple(tuple(e.Name(names[b]) for b in buffers), bare=True), e.Name(value))
