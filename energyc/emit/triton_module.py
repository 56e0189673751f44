"""A network as a PyTorch module whose phases run in Triton kernels and the products of torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from energyc.emit.context import Context, Options
from energyc.emit.cpp_module import given_methods, kernels_of, without_kernels
from energyc.emit.layout import broken_lines, escaped
from energyc.emit.torch_module import module
from energyc.emit.torch_part import network_part
from energyc.emit.triton_kernels import GroupWriter, Launch, comment
from energyc.emit.triton_products import product
from energyc.emit.triton_text import names_of_kernel
from energyc.loops import Kernel, NotLowered
from energyc.loops.memory import layout
from energyc.loops.nest import Buffer, Group
from energyc.resolve.network import Network


def triton_module(network: Network, options: Options) -> str:
    """The text of the module; where a network has no kernels it is that of the torch target, and says why."""
    try:
        kernels, context = kernels_of(network, options, "registers")
    except NotLowered as reason:
        return without_kernels(network, options, reason)
    own = network_part(context, given_methods(kernels, context))
    called = context.called
    phases = ", ".join(f'"{k.name}": PhaseStep({k.name}_step, {layout(k.body).entries})' for k in kernels)
    body = [f"learning_rules = ({', '.join(rule.module for rule in context.features.rules)},)"]
    body += context.features.hooks
    body.append(f"kernels = TritonKernels({{{phases}}})")
    about = "The network: its equations, relaxed by kernels and learned."
    lines = [f"class {called.own}({called.equations}, KernelNetwork):", f'    """{about}"""', ""]
    final = "\n".join([*lines, *(f"    {line}" for line in broken_lines(body))])
    head = [f"Kernels: {', '.join(k.name for k in kernels)}"]
    return module(network, options, (own, "\n\n\n".join([*_definitions(kernels, context), final])), head)


def _definitions(kernels: list[Kernel], context: Context) -> Iterator[str]:
    """The kernels of each phase, and the function that launches them."""
    for kernel in kernels:
        groups = [block for block in kernel.body if isinstance(block, Group)]
        sizes: Mapping[str, int] = context.network.extents
        writers = {
            id(g): GroupWriter(kernel, g, f"{kernel.name}_group_{k}", sizes) for k, g in enumerate(groups, start=1)
        }
        for group in groups:
            yield "\n".join(writers[id(group)].write())
        yield "\n".join(_step(kernel, writers))


def _step(kernel: Kernel, writers: Mapping[int, GroupWriter]) -> Iterator[str]:
    """The function that makes one step."""
    names_free = names_of_kernel()
    for writer in writers.values():
        names_free.new(writer.name)
    places = layout(kernel.body)
    given = [buffer for _, buffer in kernel.given]
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
        else:
            lines += [*comment(block.label), product(block, names)]
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
