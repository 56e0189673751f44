"""Whether the energy of a network is bounded below on the sets of its states, and whether it takes its least value.

The rules: a continuous energy on compact sets; terms that are each bounded below; powers of the states that outgrow all
terms that may be negative. It is refuted by a ray along which the leading term of its expansion is negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from energyc.language.network import Network
from energyc.mathematics.calculus import derivative, tangent
from energyc.mathematics.ir import Coefficient, Input, Map, Node, walk
from energyc.proofs.claims.energy import has_cuts, summands
from energyc.proofs.claims.forms import Forms, at_more_sizes, exact_values
from energyc.proofs.claims.judgement import Judgement, Kernel, Step, Write, undecided
from energyc.proofs.claims.norms import Norms
from energyc.proofs.claims.rays import falling_ray
from energyc.proofs.claims.sets import enclosures_of, roaming, simplexes, with_spheres
from energyc.proofs.conservativeness.selections import continuous_masks
from energyc.proofs.enclosures.enclosure import BOUNDED, Enclosure
from energyc.proofs.enclosures.nodes import Enclosures
from energyc.proofs.fields.problem import ForceField
from energyc.proofs.fields.structured import Structures
from energyc.proofs.normal_form.products import Product, multiplied_out

#: What grows by less than this share of a power of the states is outgrown by it.
WHOLE = 1 - 1e-9
CLAIM = "bounded below"


@dataclass(frozen=True)
class Floor:
    """The judgement on a floor; ``attained``: the energy is continuous and takes its least value."""

    judgement: Judgement
    attained: bool = False


def floor_of(
    network: Network, base: ForceField, write: Write, kernel: Kernel, couples: Callable[[], bool] = lambda: False
) -> Floor:
    """Whether the sum of all energies is bounded below; the kernel is asked where no rule here confines the states.

    It is not asked where the energy ``couples`` elements of the states, which the kernel would find out more slowly.
    """
    energies = [term.node for term in network.energies.values()]
    meeting = [node for energy in energies for node in continuous_masks(network.real_selections, energy, base)[0]]
    enclosures = enclosures_of(network, base, harmless=meeting)
    whole = " + ".join(network.energies)
    if not roaming(network) and enclosures.continuous(energies):
        because = "continuous, and its states are kept in compact sets"
        return Floor(Judgement("proved", because, Step("compact", f"{whole} is bounded below")), attained=True)
    terms = [part for term in network.energies.values() for part in summands(term.node)]
    proved = _outgrown(enclosures, terms, base, write, whole) or _outweighed(enclosures, terms, network, base, whole)
    continuous = enclosures.continuous(energies)
    if proved is not None and (proved[1] or not continuous):
        return Floor(proved[0], attained=proved[1] and continuous)
    if continuous and not has_cuts(network, base) and not couples() and kernel.is_driven_back:
        because = "each element stands alone, and is driven back from far out"
        return Floor(Judgement("proved", because, Step("alone", f"{whole} is bounded below")), attained=True)
    if proved is not None:
        return Floor(proved[0])
    refuted = falling_ray(network, base, roaming(network))
    return Floor(refuted or undecided("no rule shows a floor, and no ray was met along which it falls"))


@dataclass(frozen=True)
class Load:
    """A product that lowers the energy: parts, each with the states that it reads and the power of its growth."""

    parts: tuple[tuple[frozenset[Node], float], ...]

    def is_outgrown(self, powers: Mapping[Node, float]) -> bool:
        """Whether powers of the states outgrow the product of its parts (Young's inequality)."""
        moving = [(states, growth) for states, growth in self.parts if growth > 0]
        if any(not states or not states <= powers.keys() for states, _ in moving):
            return False
        return sum(growth / min(powers[state] for state in states) for states, growth in moving) < WHOLE


@dataclass
class Confinement:
    """Collects the powers of the states that terms contain, and the loads that they must outgrow."""

    enclosures: Enclosures
    free: Sequence[Input]
    structures: Structures
    powers: dict[Node, float] = field(default_factory=dict)
    loads: list[Load] = field(default_factory=list)

    def holds(self, terms: Sequence[tuple[Coefficient, Node]]) -> bool:
        """Whether, with these terms, powers of the states outgrow every load."""
        pending = list(terms)
        while remaining := [term for term in pending if not self.take(*term)]:
            if len(remaining) == len(pending):
                break
            pending = remaining
        return all(load.is_outgrown(self.powers) for load in self.loads)

    def has_floor(self, product: Product) -> bool:
        """Whether a product is bounded below."""
        return self._enclosed(product).has_floor

    def take(self, factor: Coefficient, node: Node) -> bool:
        """Whether a term could be taken into account; one that could not may be on a later turn."""
        term = self.enclosures.of_multiple(factor, node)
        products = multiplied_out(node, self.structures)
        gains, others = self._split(factor, products or ())
        if gains:
            loads = [load for other in others if (load := self._load(other, gains, term.has_floor)) is not None]
            if not term.has_floor or all(load.is_outgrown({**self._of_two(), **gains}) for load in loads):
                self.powers |= {state: max(power, self.powers.get(state, 0.0)) for state, power in gains.items()}
                self.loads += loads
                return True
        if term.has_floor:
            return not gains
        self.loads += self._loads_of(factor, node, term, None if products is None else others)
        return True

    def _of_two(self) -> dict[Node, float]:
        """The powers that will confine the states, as far as one can hope; the loads are judged again at the end."""
        return {state: self.powers.get(state, 2.0) for state in self.free}

    def _split(self, factor: Coefficient, products: Sequence[Product]) -> tuple[dict[Node, float], list[Product]]:
        """The states whose powers a term adds up with positive factors, and its products that may fall."""
        gains: dict[Node, float] = {}
        others: list[Product] = []
        for product in products:
            multiple = Product(factor * product.coefficient, product.factors)
            gain = self._gain(multiple)
            if gain is not None:
                gains[gain[0]] = max(gain[1], gains.get(gain[0], 0.0))
            elif not self.has_floor(multiple):
                others.append(multiple)
        return gains, others

    def _enclosed(self, product: Product) -> Enclosure:
        number = self.enclosures.number(product.coefficient)
        part = self.enclosures.of_product(product.factors)
        return part if number.positive else part.negated() if (-number).positive else Enclosure()

    def _gain(self, product: Product) -> tuple[Node, float] | None:
        """z and p of ``sum(c |z|^p)`` over all elements of z, where c stays above a positive number."""
        if not self.enclosures.number(product.coefficient).positive:
            return None
        scales = [f for f in product.factors if not self._base(f.node)]
        ends = [(f, base) for f in product.factors if (base := self._base(f.node))]
        if not ends or len({(state, f.axes) for f, (state, _) in ends}) != 1:
            return None
        (first, (state, _)), power = ends[0], sum(power for _, (_, power) in ends)
        signed = sum(power for f, (_, power) in ends if not self.enclosures.range(f.node).nonnegative)
        even = signed % 2 == 0
        positive = all((e := self.enclosures.of(f.node)).away and e.range.nonnegative for f in scales)
        each = len(set(first.axes)) == len(first.axes)
        return (state, power) if even and positive and each else None

    def _base(self, node: Node) -> tuple[Node, float] | None:
        """A free state and the power to which a factor raises its absolute value."""
        if node in self.free:
            return node, 1.0
        if isinstance(node, Map) and node.function.slope is None and node.argument in self.free:
            exponent = node.function.exponent
            if exponent is not None and exponent > 0 and exponent.denominator == 1:
                return node.argument, float(exponent)
            if node.function.named("abs"):
                return node.argument, 1.0
        return None

    def _load(self, product: Product, gains: Mapping[Node, float], has_floor: bool) -> Load | None:
        """The load of a product; none of ``x y`` in a term with a floor that contains ``y^2``, if x is confined.

        A small share of that term is enough to confine y, and pulls on x by as little as one likes.
        """
        moving = [f.node for f in product.factors if self._states(f.node)]
        fresh = {node for node in moving if self.powers.get(node, 0.0) < 2}
        two = len(moving) == 2 and len(set(moving)) == 2 and set(moving) <= set(self.free)
        held = (f.node for f in product.factors if f.node not in moving)
        crossed = has_floor and two and all(self.enclosures.of(node).growth <= BOUNDED for node in held)
        if crossed and len(fresh) <= 1 and all(gains.get(node, 0.0) >= 2 for node in fresh):
            return None
        return self.load_of(product)

    def load_of(self, product: Product) -> Load:
        """The parts of a product, each with its states and its growth."""
        return Load(tuple((self._states(f.node), self.enclosures.of(f.node).growth) for f in product.factors))

    def _loads_of(
        self, factor: Coefficient, node: Node, term: Enclosure, falling: Sequence[Product] | None
    ) -> list[Load]:
        """The loads of a term without gains: of its products, or of the linear function below a convex one."""
        states = self._states(node)
        if term.down > 1 and self._is_convex(factor, node):
            return [Load(((states, 1.0),))]
        return [Load(((states, term.down),))] if falling is None else [self.load_of(part) for part in falling]

    def _states(self, node: Node) -> frozenset[Node]:
        return frozenset(state for state in walk([node]) if state in self.free)

    def _is_convex(self, factor: Coefficient, node: Node) -> bool:
        """Whether a term is a sum of convex functions of what grows linearly, which stay above a linear bound."""
        products = multiplied_out(node, self.structures)
        positive = self.enclosures.number(factor).positive
        return positive and products is not None and all(self._is_convex_product(product) for product in products)

    def _is_convex_product(self, product: Product) -> bool:
        moving = [f.node for f in product.factors if self._states(f.node)]
        scales = [f.node for f in product.factors if f.node not in moving]
        if len(moving) != 1 or not isinstance(moving[0], Map):
            return False
        graph, function, argument = self.enclosures.graph, moving[0].function, moving[0].argument
        if self.enclosures.of(argument).growth > 1:
            return False
        slope = derivative(graph, function, argument)
        (bend,) = tangent(graph, [slope], {argument: graph.constant(1, argument.dims)})
        positive = self.enclosures.number(product.coefficient).positive
        rising = self.enclosures.range(bend).nonnegative and self.enclosures.of(slope).continuous
        known = [self.enclosures.of(scale) for scale in scales]
        return positive and rising and all(scale.range.nonnegative and scale.growth <= BOUNDED for scale in known)


def _outgrown(
    enclosures: Enclosures, terms: Sequence[tuple[Coefficient, Node]], base: ForceField, write: Write, whole: str
) -> tuple[Judgement, bool] | None:
    """Powers of the states outgrow every term that may be negative; whether they confine all that is free."""
    confinement = Confinement(enclosures, list(enclosures.free), base.structure)
    if not confinement.holds(terms):
        return None
    powers = confinement.powers
    if not confinement.loads and not powers:
        premises = tuple(Step("range", f"{write(node)} is bounded below, times {factor}") for factor, node in terms)
        because = "each of its terms is bounded below"
        return Judgement("proved", because, Step("sum", f"{whole} is bounded below", premises)), False
    names = {state.name: power for state, power in powers.items() if isinstance(state, Input)}
    premises = tuple(Step("power", f"a positive multiple of |{name}|^{power:g}") for name, power in names.items())
    kind = "squares" if set(names.values()) <= {2.0} else "powers"
    because = f"{kind} of the states outgrow all terms that may be negative"
    proof = Step("outgrown", f"{whole} is bounded below", premises)
    return Judgement("proved", because, proof), set(powers) >= set(enclosures.free)


def _outweighed(
    enclosures: Enclosures, terms: Sequence[tuple[Coefficient, Node]], network: Network, base: ForceField, whole: str
) -> tuple[Judgement, bool] | None:
    """The quadratic terms of the states add up to a form that norms show to be nowhere negative.

    Where it confines states, it outgrows the rest as their squares do.
    """
    spheres = replace(base, structure=with_spheres(network, base.structure))
    for known, sizes in at_more_sizes(spheres, [node for _, node in terms]):
        norms = Norms(enclosures, {}, known.structure, simplexes(network))
        forms = Forms(norms, exact_values(known), enclosures.free)
        confinement = Confinement(enclosures, list(enclosures.free), known.structure)
        rest = [term for term in terms if not _took(forms, confinement, *term)]
        confined = forms.confined() if forms.subtracts or (sizes and forms.least) else None
        if confined is None:
            continue
        confinement.powers |= dict.fromkeys(confined, 2.0)
        if confinement.holds(rest):
            reasons = [*dict.fromkeys(forms.because)]
            because = "; ".join([*reasons, f"squares of the states outweigh products of them{sizes}"])
            proof = Step("norms", f"{whole} is bounded below{sizes}", tuple(Step("norm", each) for each in reasons))
            return Judgement("proved", because, proof), set(confinement.powers) >= set(enclosures.free)
    return None


def _took(forms: Forms, confinement: Confinement, factor: Coefficient, node: Node) -> bool:
    """Whether a term is a sum of products of two states, and of loads; those products are then in ``forms``."""
    products = multiplied_out(node, confinement.structures)
    if products is None:
        return False
    loads: list[Product] = []
    added = forms.copy()
    for product in products:
        multiple = Product(factor * product.coefficient, product.factors)
        if not added.is_plain(multiple) and confinement.has_floor(multiple):
            continue
        if not added.take(multiple) and not confinement.has_floor(multiple):
            loads.append(multiple)
    if added.least == forms.least or (loads and confinement.enclosures.of_multiple(factor, node).has_floor):
        return False
    forms.least, forms.because, forms.subtracts = added.least, added.because, added.subtracts
    confinement.loads += map(confinement.load_of, loads)
    return True
