"""A network as a PyTorch module whose phases run in Triton kernels and the products of torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from energyc.code.emit.context import Context, Options
from energyc.code.emit.kernels import Relaxing, Written, kernel_module
from energyc.code.emit.layout import broken_lines, escaped
from energyc.code.emit.library import free_names
from energyc.code.emit.printed import Printed
from energyc.code.emit.triton_kernels import GroupWriter, Launch, comment
from energyc.code.emit.triton_products import product, scattered
from energyc.code.emit.triton_text import names_of_kernel
from energyc.code.loops import Kernel
from energyc.code.loops.memory import layout
from energyc.code.loops.nest import Buffer, Group, Product
from energyc.code.tree.expressions import Dict, Expr, Name, Number, SetOf, String, call
from energyc.code.tree.statements import Verbatim
from energyc.language.network import Network
from energyc.mathematics.ir import Node


def triton_module(network: Network, options: Options) -> Printed:
    """The module; where a network has no kernels it is that of the torch target, and says why."""
    return kernel_module(network, options, "registers", _written)


def _written(relaxing: Sequence[Relaxing]) -> Written:
    definitions = [text for r in relaxing for kernel in r.kernels for text in _definitions(kernel, r.context)]
    kernels = [kernel for r in relaxing for kernel in r.kernels]
    phases = Dict(tuple((String(kernel.name), _phase(kernel)) for kernel in kernels))
    text = "\n\n\n".join(definitions)
    return Written((Verbatim(text, free_names(text), frozenset({"kernels"})),), call("TritonKernels", phases))


def _phase(kernel: Kernel) -> Expr:
    """Its step, the entries of memory between launches, and what of the given numbers it, and what products read."""
    elsewhere = {buffer for block in kernel.body if not isinstance(block, Product) for buffer in block.reads}
    matrices = [k for k, (_, b) in enumerate(kernel.given) if b.integers is None and b not in elsewhere]
    keywords: dict[str, Expr] = {} if kernel.number is None else {"number": Number(kernel.number)}
    keywords |= {"matrices": SetOf(tuple(map(Number, matrices)))} if matrices else {}
    return call("PhaseStep", Name(f"{kernel.name}_step"), Number(layout(kernel.body).entries), **keywords)


def _definitions(kernel: Kernel, context: Context) -> Iterator[str]:
    """The kernels of a phase, and the function that launches them."""
    groups = [block for block in kernel.body if isinstance(block, Group)]
    sizes: Mapping[str, int] = context.network.extents
    writers = {id(g): GroupWriter(kernel, g, f"{kernel.name}_group_{k}", sizes) for k, g in enumerate(groups, start=1)}
    for group in groups:
        yield "\n".join(writers[id(group)].write())
    yield "\n".join(_step(kernel, writers, sizes))


def _step(kernel: Kernel, writers: Mapping[int, GroupWriter], sizes: Mapping[str, int]) -> Iterator[str]:
    """The function that makes one step."""
    names_free = names_of_kernel()
    for writer in writers.values():
        names_free.new(writer.name)
    places = layout(kernel.body)
    given = [buffer for _, buffer in kernel.given]
    integers: dict[Node, Buffer] = {node: buffer for node, buffer in kernel.given if buffer.integers is not None}
    names: dict[Buffer, str] = {}
    for buffer in [*kernel.states, *kernel.moves, *given, *places.offsets]:
        names[buffer] = names_free.new(buffer.name)
    arguments = "now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor"
    yield f"def {kernel.name}_step({arguments}) -> None:"
    yield f'    """{escaped(kernel.doc.replace("Steps", "A step", 1))}"""'
    lines = [f"{_several(kernel.states, names)} = now", f"{_several(kernel.moves, names)} = then"]
    lines += [f"{_several(given, names)} = given"] if given else []
    lines.append(f"n = len({names[kernel.states[0]]})")
    for buffer, at in places.offsets.items():
        lines.append(f"{names[buffer]} = room(memory, n, {at}, {buffer.size})")
    for block in kernel.body:
        if isinstance(block, Group):
            lines.append(_launched(writers[id(block)].launch(), block, names))
        elif isinstance(block, Product):
            lines += [*comment(block.label), product(block, names)]
        else:
            lines += [*comment(block.label), scattered(block, names, integers, sizes)]
    yield from (f"    {line}" for line in broken_lines(lines))


def _launched(launch: Launch, group: Group, names: Mapping[Buffer, str]) -> str:
    """The call of a kernel."""
    arguments = [names[buffer] for buffer in launch.buffers]
    arguments += [*(["scalars"] if launch.scalars else []), *(["n"] if group.batched else [])]
    arguments += [f"num_warps={launch.warps}"] if launch.warps != 4 else []
    programs = ", ".join(launch.programs) + ("," if len(launch.programs) == 1 else "")
    return f"{launch.name}[({programs})]({', '.join(arguments)})"


def _several(buffers: tuple[Buffer, ...] | list[Buffer], names: Mapping[Buffer, str]) -> str:
    return ", ".join(names[b] for b in buffers) + "," * (len(buffers) == 1)
