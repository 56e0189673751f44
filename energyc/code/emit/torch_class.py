"""What a generated class is beside its equations: settings, construction, projections, records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from energyc.code.emit import torch_sets
from energyc.code.emit.context import Context
from energyc.code.emit.layout import broken_lines
from energyc.code.emit.library import library
from energyc.code.emit.routines import force_params
from energyc.code.emit.torch_initial import drawn, initial_values
from energyc.code.emit.torch_nodes import TorchWriter
from energyc.language.network import DataInput, Network
from energyc.language.settings import Nudge
from energyc.mathematics.ir import Einsum, Indicator, Node

#: Settings of the nudged phase beside its strength and its steps.
OPTIONS = ("points", "radius", "snapshots", "alpha")


def settings(context: Context) -> str:
    """The constants of the class of a network: names, shapes, the spec's settings."""
    return _constants_of(context, {**_names(context), **_phases(context)})


def layer_settings(context: Context) -> str:
    """The constants of the class of a layer, which owns no params and is not nudged."""
    named = {"param_names": tuple(context.network.params)}
    return _constants_of(context, {**_names(context), "param_bounds": {}, **_free_phase(context), **named})


def layered_settings(context: Context, further: Mapping[str, Any]) -> str:
    """The constants of the class around layers; the layers have the settings of their phases."""
    return _constants_of(context, {**_names(context), **further})


def _names(context: Context) -> dict[str, Any]:
    network = context.network
    return {
        "name": network.name,
        "state_shapes": {n: _shape(context, s.node) for n, s in network.states.items()},
        "clamp_shapes": _input_shapes(context, network.clamps),
        "noise_shapes": {n: _shape(context, noise.node) for n, noise in network.noises.items()},
        "target_shapes": _input_shapes(context, network.targets),
        "param_attributes": {name: attribute for name, attribute in context.params.items() if name != attribute},
        "param_bounds": {n: (p.low, p.high) for n, p in network.params.items() if (p.low, p.high) != (None, None)},
        "term_names": tuple(network.energies),
        "family_names": tuple(name for name, term in network.energies.items() if term.is_family),
        "readout_names": tuple(network.readouts),
        "metric_names": tuple(network.reported),
        "cost_names": tuple(network.costs) if len(network.costs) > 1 else (),
    }


def _free_phase(context: Context) -> dict[str, Any]:
    network, relax = context.network, context.network.relax
    return {
        "constrained": any(state.constraint is not None for state in network.states.values()),
        "biased": dict(context.options.biased),
        "relax_solver": relax.solver,
        "relax_products": relax.products,
        "relax_steps": relax.steps,
        "relax_auto": relax.step is None,
        "relax_memory": relax.memory,
        "relax_damping": relax.damping,
        "relax_step": tuple(relax.step_for(n) for n in network.states),
        "relax_tolerance": relax.tolerance,
        "relax_measure": relax.measure,
        "sloped": tuple(network.sloped),
        "relax_patience": relax.patience,
        "relax_exit": relax.exit,
        "relax_chunk": relax.chunk,
        "relax_max_steps": relax.max_steps,
        "relax_explosion": relax.explosion,
        "numbered": network.numbered != (),
        "batch_mates": _batch_mates(network),
        "summed": _summed(context),
    }


def _phases(context: Context) -> dict[str, Any]:
    network, features = context.network, context.features
    nudge = network.nudge
    values: dict[str, Any] = {
        **_free_phase(context),
        "products": network.train.products,
        "beta": ("auto" if nudge.beta is None else nudge.beta)
        if "beta" in features.settings or "radius" in features.settings
        else None,
        "nudge_steps": nudge.steps,
        "nudge_together": nudge.together,
        **_nudge_options(nudge, features.settings),
    }
    if features.needs("dyads"):
        values["turned"] = bool(context.derivation.unproved)
    if features.needs("lifted"):
        values["precisions"] = tuple(context.derivation.predictions[name].precision for name in network.states)
    if features.needs("contrast"):
        values["descends"] = context.options.descends
        values["force_params"] = force_params(context.derivation) or ()
    return values


def _constants_of(context: Context, values: Mapping[str, Any]) -> str:
    defaults = library().defaults("Equations")
    for name in context.called.bases:
        defaults |= library().defaults(name)
    chosen = {name: value for name, value in values.items() if name not in defaults or value != defaults[name]}
    return "\n".join(broken_lines([f"    {name} = {literal(value)}" for name, value in chosen.items()]))


def _summed(context: Context) -> tuple[str, ...]:
    """The clamps whose slopes are taken of the sums over steps."""
    return (
        tuple(name for name in context.derivation.sums.slopes if name in context.network.clamps) if context.sums else ()
    )


def _batch_mates(network: Network) -> str | None:
    """When what happens to a sample hangs on the others of its batch."""
    mates = network.batch_mates
    return ("training" if all(mates.values()) else "always") if mates else None


def _nudge_options(nudge: Nudge, settings: Collection[str]) -> dict[str, object]:
    """Further settings of the nudged phase, as far as the spec has them and a rule of the module reads them."""
    options = {name: getattr(nudge, name) for name in OPTIONS if name in settings}
    return {name: value for name, value in options.items() if value is not None}


def _shape(context: Context, node: Node) -> tuple[int, ...]:
    return tuple(context.network.extents[dim] for dim in node.dims)


def _input_shapes(context: Context, items: Mapping[str, DataInput]) -> dict[str, tuple[tuple[int, ...], int | None]]:
    sizes = context.network.extents
    return {n: (_shape(context, i.node), sizes[i.node.over] if i.node.over else None) for n, i in items.items()}


def init(
    context: Context, writer: TorchWriter, constants: Mapping[Node, str], layers: Mapping[str, str] | None = None
) -> list[str]:
    """The constructor; ``layers`` are the classes of what it is made of, by their attributes."""
    lines = [
        "def __init__(",
        "    self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0",
        ") -> None:",
        "    super().__init__(device, dtype)",
    ]
    params = initial_values(context.network, writer, context.params)
    if any("(random, " in line for line in params):
        lines.append("    random = torch.Generator().manual_seed(seed)")
    lines += [f"    {line}" for line in params]
    lines += [f"    self.{attribute} = {layer}(device, dtype)" for attribute, layer in (layers or {}).items()]
    return broken_lines([*lines, *_constants(writer, constants)])


def layer_init(writer: TorchWriter, constants: Mapping[Node, str]) -> list[str]:
    """The constructor of a layer, which owns no params; none where there is nothing to make."""
    head = "def __init__(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> None:"
    lines = [head, "    super().__init__(device, dtype)", *_constants(writer, constants)]
    return broken_lines(lines) if constants else []


def _constants(writer: TorchWriter, constants: Mapping[Node, str]) -> list[str]:
    lines = []
    for node, name in constants.items():
        code = writer.define_mask(node) if isinstance(node, Indicator) else writer.define(node)
        lines.append(f'    self._constant("{name}", {code.text})')
    return lines


def record(name: str, doc: str, fields: Sequence[tuple[str, bool]], *, rows: bool) -> str:
    """A NamedTuple of tensors; with ``rows`` one can take some of the samples of those that are batched."""
    lines = [f"class {name}(NamedTuple):", f'    """{doc}"""', "", *(f"    {field}: Tensor" for field, _ in fields)]
    if rows:
        parts = ", ".join(f"{field}=self.{field}[rows]" for field, batched in fields if batched)
        lines += ["", f"    def rows(self, rows: Tensor) -> {name}:", '        """The same for some of the samples."""']
        lines.append(f"        return self._replace({parts})" if parts else "        return self")
    return "\n".join(broken_lines(lines))


def what_is_fixed(context: Context) -> str:
    """The sentence on the record that ``_prepare`` gives."""
    further = ["noise"] if context.network.noises else []
    further += context.set.values()
    return f"The clamps, {''.join(f'{text}, ' for text in further)}and what depends on clamps and params alone."


def at_step(context: Context) -> str:
    """The method that sets the number of the step."""
    assert context.step is not None
    record = context.called.fixed
    lines = [f"def _at(self, fixed: {record}, number: int) -> {record}:", '    """What is fixed in one step."""']
    lines.append(f"    return fixed._replace({context.set[context.step]}=torch.tensor(number, device=self.device))")
    return "\n".join(lines)


def noise(context: Context, writer: TorchWriter) -> str:
    """The method that draws the noises of some samples."""
    head = ["def _noise(self, random: torch.Generator | None, batch: int) -> list[Tensor]:"]
    head.append('    """Noise for each sample, in float64 on the CPU."""')
    draws = [
        drawn(n.law, ["batch", *map(str, _shape(context, n.node))], writer) for n in context.network.noises.values()
    ]
    return "\n".join(broken_lines([*head, f"    return [{', '.join(draws)}]"]))


def extended() -> str:
    """The method that gives the holomorphic extension."""
    doc = '    """The equations on complex states."""'
    return "\n".join(["def _extended(self) -> Holomorphic:", doc, "    return Holomorphic(self)"])


def ties(context: Context, writer: TorchWriter) -> str:
    """The read-only views that tied names are."""
    names, masks = context.own_names()
    writer.masks.update(masks)
    with writer.scope(names):
        tied = {n: t.node for n, t in context.network.ties.items()}
        codes = {n: writer.define(t) if isinstance(t, Einsum) else writer.code(t) for n, t in tied.items()}
        views = [f'"{n}": {code.method("detach()").text}' for n, code in codes.items()]
    lines = ["def _ties(self) -> dict[str, Tensor]:", '    """The tied names, each a view of its source."""']
    return "\n".join(broken_lines([*lines, f"    return {{{', '.join(views)}}}"]))


def projections(context: Context) -> str:
    """The projection on the constraint sets, and its adjoint."""
    body, parts = [], []
    for k, state in enumerate(context.network.states.values()):
        if state.constraint is None:
            parts.append(f"seeds[{k}]")
            continue
        body.append(f"    {torch_sets.projection(f'states[{k}]', state.constraint)}")
        parts.append(torch_sets.adjoint(f"at[{k}]", f"seeds[{k}]", state.constraint))
    head = ["def _project_(self, states: list[Tensor]) -> None:"]
    head.append('    """Each state onto its constraint set, in place."""')
    adjoint = [
        "def _project_adjoint(self, at: Tensors, seeds: Tensors) -> list[Tensor]:",
        '    """P^T seeds, P the derivative of the projection at a point."""',
        f"    return [{', '.join(parts)}]",
    ]
    return "\n".join(broken_lines([*head, *body, "", *adjoint]))


def literal(value: object) -> str:
    """A literal of plain data with double quotes."""
    match value:
        case str():
            return '"' + "".join(_escaped(char) for char in value) + '"'
        case tuple():
            inner = ", ".join(map(literal, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case dict():
            return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    return repr(value)


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    return char if char.isprintable() else char.encode("unicode_escape").decode()
