"""Show any stage of the pipeline as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from types import MappingProxyType

from energyc import pipeline
from energyc.code.module.formulas import segment_text
from energyc.code.plan import ModulePlan, PlannedRoutine
from energyc.code.targets import TARGETS
from energyc.derivation.derive import Blocks, Derivation
from energyc.derivation.notation import Notation, Reference, left_side, of_network, text
from energyc.derivation.notation import name as index
from energyc.language.diagnostics import Source, stage
from energyc.language.network import Layer, Network, Repeat, StartLaw, Term
from energyc.language.syntax import ast, unparse
from energyc.mathematics.ir import Node
from energyc.mathematics.ir.text import format_graph
from energyc.mathematics.sparse import Segment
from energyc.pipeline import Choices
from energyc.proofs.claims.classes import Classes
from energyc.surfaces.report.check import written_set

Label = tuple[str, tuple[str, ...]]


def show(source: Source, at: str, choices: Choices = Choices(), rules: Sequence[str] | None = None) -> str:
    """Return one stage of the pipeline as text: tree, network, ir, forces, jacobian, plan, kernels, or a target.

    The stage of a target is the module that ``energyc compile`` writes.
    """
    if at == "tree":
        return tree(pipeline.parse(source))
    network = pipeline.resolve(source, choices)
    if at in TARGETS:
        return pipeline.emit(network, rules, choices, at).text
    if at == "kernels":
        return pipeline.kernels(network, rules, choices)
    if at == "plan":
        planned = pipeline.plan(network, pipeline.classify(network), rules)
        return "\n".join([plan(planned), *(f"# layer {name}\n{plan(own)}" for name, own in planned.layers.items())])
    classes = pipeline.classify(network) if at == "jacobian" else None
    parts = [] if network.layers and at in OF_STATES else [_shown(source, network, at, classes)]
    for name, layer in network.layers.items():
        own = None if classes is None else classes.layers[name]
        parts.append(f"# layer {name}\n{_shown(source, layer.network, at, own)}")
    return "\n".join(parts)


def _shown(source: Source, network: Network, at: str, classes: Classes | None) -> str:
    """Return a stage of a network, of a layer, or of what is around layers."""
    with stage(f"show {at}", source.name):
        return STAGES[at](network, pipeline.derive(network, classes))


# ------------------------------------------------------------------ tree


def tree(spec: ast.Spec) -> str:
    """Return the parsed tree, with a line for each node."""
    return "\n".join(_branch(spec, 0)) + "\n"


def _branch(node: ast.Tree, depth: int) -> Iterator[str]:
    leaves: list[str] = []
    children: list[ast.Tree] = []
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, ast.Expr):
            leaves.append(f"{field.name}={unparse(value)}")
        elif isinstance(value, ast.Tree) and not isinstance(value, ast.Name):
            children.append(value)
        elif isinstance(value, tuple) and any(isinstance(item, ast.Tree) for item in value):
            children.extend(value) if not all(isinstance(item, ast.Name) for item in value) else leaves.append(
                f"{field.name}={'.'.join(item.text for item in value)}"
            )
        elif field.name != "span" and value not in (None, ()):
            leaves.append(f"{field.name}={_leaf(value)}")
    yield "  " * depth + " ".join([type(node).__name__, *leaves])
    for child in children:
        yield from _branch(child, depth + 1)


def _leaf(value: object) -> str:
    if isinstance(value, ast.Name):
        return value.text
    return str(value) if isinstance(value, Fraction | bool) else repr(value)


# ------------------------------------------------------------------ network


def network(network: Network, derivation: Derivation) -> str:
    """Return the typed network: declarations with dims and sizes, quantities with formulas."""
    notation = of_network(network)
    return "\n".join([f"network {network.name}", *_declared(network), *_defined(network, notation)]) + "\n"


def _declared(network: Network) -> Iterator[str]:
    for name, size in network.sizes.items():
        derived = f"    # from {', '.join(size.derived_from)}" if size.derived_from else ""
        yield f"dim {name} = {size.value}{derived}"
    for name, const in network.consts.items():
        yield f"const {name} = {const.exact if const.exact is not None else const.value}"
    for name, clamp in network.clamps.items():
        yield f"clamp {_typed(name, clamp.node)}{f' : {clamp.node.over}' if clamp.node.over else ''}"
    for name, noise in network.noises.items():
        yield f"noise {_typed(name, noise.node)}{_law(noise.law)}"
    for name, target in network.targets.items():
        yield f"target {_typed(name, target.node)}{f' : {target.node.over}' if target.node.over else ''}"
    for name, param in network.params.items():
        in_sets = f" in {param.sets}" if param.structure else ""
        yield f"param {_typed(name, param.node)}{_law(param.law)}{in_sets}"
    for name, state in network.states.items():
        in_set = f" in {written_set(state.constraint, state.node.dims)}" if state.constraint else ""
        yield f"state {_typed(name, state.node)}{in_set}"


def _law(law: StartLaw | None) -> str:
    return f" ~ {law.name}({', '.join(f'{a:g}' for a in law.arguments)})" if law else ""


def _defined(network: Network, notation: Notation) -> Iterator[str]:
    for tie in network.ties.values():
        yield f"tie {tie.name} = {tie.source} with axes {', '.join(map(str, tie.axes))}"
    for quantity in network.lets.values():
        yield f"let {_equation(notation, quantity.name, quantity.node, quantity.indices)}"
    for term in network.terms.values():
        yield _term(notation, term)
    for name, node in network.clamped.items():
        yield f"clamped {_equation(notation, name, node, notation.indices(node))}"
    for block in network.blocks:
        yield from _block(block, notation)
    quantities_by_keyword = (
        ("readout", network.readouts.values()),
        ("cost", network.costs.values()),
        ("metric", network.metrics.values()),
    )
    for keyword, quantities in quantities_by_keyword:
        for quantity in quantities:
            yield f"{keyword} {_equation(notation, quantity.name, quantity.node, quantity.indices)}"


def _block(block: Layer | Repeat, notation: Notation) -> Iterator[str]:
    layers = block.layers if isinstance(block, Repeat) else (block,)
    if isinstance(block, Repeat):
        yield f"repeat {block.dim}: {', '.join(layer.name for layer in layers)}"
        for stream in block.streams.values():
            yield f"start {_equation(notation, stream.name, stream.start, notation.indices(stream.node))}"
            yield f"next {_equation(notation, stream.name, stream.next, notation.indices(stream.node))}"
    for layer in layers:
        yield f"layer {layer.name}({', '.join(layer.clamps)}) gives {', '.join(layer.outputs)}"


def _term(notation: Notation, term: Term) -> str:
    if term.kind == "flow":
        return f"flow {_equation(notation, term.name, term.family, term.indices)}"
    if term.is_family:
        return f"energy {_equation(notation, term.name, term.family, term.indices)}"
    on = f" on {term.state}" if term.state else ""
    return f"{term.kind} {term.name}{on} = {notation.text(term.node, term.indices if term.state else ())}"


def _typed(name: str, node: Node) -> str:
    return f"{name}[{', '.join(node.dims)}]" if node.dims else name


def _equation(notation: Notation, name: str, node: Node, indices: Sequence[str]) -> str:
    return f"{left_side(name, indices)} = {notation.text(node, indices)}"


# ------------------------------------------------------------------ graphs


def ir(network: Network, derivation: Derivation) -> str:
    """Return the graph of terms, readouts and cost, as text that can be parsed again."""
    roots: dict[str, Node] = {name: term.node for name, term in network.terms.items()}
    roots |= {name: quantity.node for name, quantity in network.readouts.items()}
    roots |= {name: quantity.node for name, quantity in network.costs.items()}
    names = {quantity.node: name for name, quantity in network.lets.items()}
    return format_graph(roots, names)


def forces(network: Network, derivation: Derivation) -> str:
    """Return the force on each state and the slope of the energy by each param, in the spec's notation."""
    states = {name: network.states[name].node for name in derivation.force}
    params = {name: network.params[name].node for name in derivation.energy_gradient}
    parts = [
        *_equations(network, "force ", derivation.force, states),
        "",
        *_equations(network, "dE/d", derivation.energy_gradient, params),
    ]
    return "\n".join(parts) + "\n"


def jacobian(network: Network, derivation: Derivation) -> str:
    """Return J v and J^T v of the total force, and the antisymmetric correction.

    The correction is that of the terms not proved conservative together; it is 0 if all are.
    """
    states = {name: state.node for name, state in network.states.items()}
    forward = derivation.jvp(derivation.force)
    backward = derivation.vjp(derivation.force, derivation.states)
    parts = [
        *_equations(network, "J v ", forward, states),
        "",
        *_equations(network, "J^T v ", backward, states),
        "",
        *_corrected(network, derivation, states),
    ]
    return "\n".join(parts) + "\n"


def _corrected(network: Network, derivation: Derivation, states: Mapping[str, Node]) -> Iterator[str]:
    if not derivation.correction:
        yield "(J_nc - J_nc^T) v = 0: every term is conservative"
        return
    yield f"J_nc is the Jacobian of {', '.join(derivation.unproved)}"
    yield from _equations(network, "(J_nc - J_nc^T) v ", derivation.correction, states)


def _equations(network: Network, prefix: str, nodes: Mapping[str, Node], axes: Mapping[str, Node]) -> Iterator[str]:
    """Yield ``prefix name[indices] = formula`` for each node, and the definitions of shared subexpressions."""
    notation = of_network(network).sharing(list(nodes.values()))
    for name, node in nodes.items():
        indices = notation.indices(axes[name])
        left = Reference(f"{prefix}{name}", tuple(map(index, indices)))
        yield text.equation(left, notation.formula(node, indices))
    for piece in notation.definitions(list(nodes.values())):
        yield f"  where {piece.left} = {piece.text}"


# ------------------------------------------------------------------ plan


def plan(module: ModulePlan) -> str:
    """Return the planned module: constants, statements of each routine, and their counts."""
    network, planned = module.network, module.plan
    base = of_network(network)
    labels = _labelled(base, [*planned.constants, *planned.fixed], planned.names)
    lines = [f"once a module: {len(planned.constants)}", *_statements(base.naming(labels), planned.constants)]
    lines += [f"once a relaxation: {len(planned.fixed)}", *_statements(base.naming(labels), planned.fixed)]
    if module.features.blocks:
        lines += _sweep(module.derivation.blocks, base)
    block = module.block
    if block is not None:
        labels |= _labelled(base, block.statements, planned.names)
        lines.append(f"once at the same states for {', '.join(block.routines)}: {len(block.statements)}")
        lines += _statements(base.naming(labels), block.statements)
    for routine in planned.routines:
        if routine.outputs:
            own = block.without(routine) if block and routine.name in block.routines else routine
            lines += _routine(base.naming({**labels, **_labelled(base, own.statements, planned.names)}), own)
    return "\n".join(lines) + "\n"


def _sweep(blocks: Blocks, notation: Notation) -> Iterator[str]:
    """Yield the blocks of a sweep: of each state D in the force b - D z on it, or why it moves by its step."""
    yield f"a sweep: {len(blocks.order)} blocks"
    for block in blocks.order:
        for name in block:
            how = f"by its step: {blocks.others[name]}" if name in blocks.others else ""
            how = how or f"exactly, D = {notation.text(blocks.slopes[name])}"
            yield f"  {', '.join(block)}: {name} {how}" if len(block) > 1 else f"  {name} {how}"


def _routine(notation: Notation, routine: PlannedRoutine) -> Iterator[str]:
    yield f"{routine.name}: {len(routine.statements)}"
    yield from _statements(notation, routine.statements)
    yield from (f"  -> {o.key} = {_value(notation, o.node)}" for o in routine.outputs)


def _labelled(notation: Notation, nodes: Iterable[Node], names: Mapping[Node, str]) -> dict[Node, Label]:
    return {node: (names.get(node, f"t{node.number}"), notation.indices(node)) for node in nodes}


def _statements(notation: Notation, nodes: Iterable[Node]) -> Iterator[str]:
    for node in nodes:
        label, indices = notation.names[node]
        right = segment_text(notation, node) if isinstance(node, Segment) else notation.text(node, indices)
        yield f"  {left_side(label, indices)} = {right}"


def _value(notation: Notation, node: Node) -> str:
    if node in notation.names:
        return notation.reference(node)
    return segment_text(notation, node) if isinstance(node, Segment) else notation.text(node)


#: The stages of what relaxes alone, which around layers nothing does.
OF_STATES = ("forces", "jacobian")
STAGES: Mapping[str, Callable[[Network, Derivation], str]] = MappingProxyType(
    {"network": network, "ir": ir, "forces": forces, "jacobian": jacobian}
)
