"""Which parts and routines a module needs for the rules it is asked to hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from energyc.analysis.rules import RULES

#: Each rule's method in the generated class.
METHODS = {rule: f"_{rule.replace('-', '_')}" for rule in RULES}
HOLOMORPHIC = frozenset({"holomorphic-ep", "holomorphic-aep"})
CONTRAST = frozenset({"ep", "centered-ep", "vf", "aep", "tracking-aep"}) | HOLOMORPHIC
HELD = frozenset({"aep", "holomorphic-aep"})
CORRECTED = HELD | {"tracking-aep"}
PAIRED = CONTRAST - HOLOMORPHIC - {"ep"}
TURNED = PAIRED & CORRECTED
UNROLL = frozenset({"tbptt", "bptt"})


@dataclass(frozen=True)
class Features:
    """The rules of a module in order, and what follows from them; ``implicit`` is always among them."""

    rules: tuple[str, ...]
    newton: bool
    penalty: bool = False

    @staticmethod
    def of(rules: Iterable[str], solver: str, *, penalty: bool = False) -> Features:
        """The features for rules; ``implicit`` is added where it is missing."""
        asked = tuple(dict.fromkeys(rules))
        return Features(asked if "implicit" in asked else (*asked, "implicit"), solver == "newton", penalty)

    @property
    def contrast(self) -> bool:
        """Whether a rule contrasts nudged phases."""
        return bool(CONTRAST & set(self.rules))

    @property
    def corrected(self) -> bool:
        """Whether a rule corrects for the antisymmetric part of the Jacobian."""
        return bool(CORRECTED & set(self.rules))

    @property
    def held(self) -> bool:
        """Whether a rule corrects at states that stay."""
        return bool(HELD & set(self.rules))

    @property
    def holomorphic(self) -> bool:
        """Whether a rule nudges in the complex plane."""
        return bool(HOLOMORPHIC & set(self.rules))

    @property
    def paired(self) -> bool:
        """Whether a rule runs two nudged phases in lockstep."""
        return bool(PAIRED & set(self.rules))

    @property
    def differs(self) -> bool:
        """Whether a rule takes the difference of two phases."""
        return self.paired or "ep" in self.rules

    @property
    def turned(self) -> bool:
        """Whether a rule corrects both of them."""
        return bool(TURNED & set(self.rules))

    @property
    def unrolled(self) -> bool:
        """Whether steps can be taken back: those of the gradient can, Newton's cannot."""
        return not self.newton

    def settings(self, options: Mapping[str, object]) -> dict[str, object]:
        """Further settings of the nudged phase that the rules read."""
        every = options.get("snapshots")
        found: dict[str, object] = {"points": int(str(options.get("points", 4)))}
        if self.contrast:
            found["snapshots"] = None if every is None else int(str(every))
        return {**found, "radius": options.get("radius")} if self.holomorphic else found

    @property
    def parts(self) -> tuple[str, ...]:
        """The templates of the class's runtime, in order."""
        parts = ["interface", "newton" if self.newton else "gradient", "gradients"]
        parts.append("penalty" if self.penalty else "no_penalty")
        if self.contrast:
            parts.append("contrast")
        parts += [rule for rule in ("ep", "centered-ep", "vf") if rule in self.rules]
        if self.corrected:
            parts.append("correction")
        parts += [rule for rule in ("aep", "tracking-aep", "adjoint") if rule in self.rules]
        if self.holomorphic:
            parts.append("holomorphic")
        parts += [rule for rule in ("holomorphic-ep", "holomorphic-aep") if rule in self.rules]
        if self.unrolled:
            parts.append("walk")
        if UNROLL & set(self.rules):
            parts.append("unroll")
        parts += [rule for rule in ("tbptt", "bptt") if rule in self.rules]
        return (*parts, "pulled", "implicit", "host")

    @property
    def functions(self) -> tuple[str, ...]:
        """The templates of functions beside the class, in order."""
        watched = ("watch",) if self.contrast or "adjoint" in self.rules else ()
        return ("functions", "solver", *watched, *("less",) * self.contrast, *("snapshots",) * self.paired)

    @property
    def methods(self) -> dict[str, str]:
        """Rule to method."""
        return {rule: METHODS[rule] for rule in self.rules}
