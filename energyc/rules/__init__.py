"""How faithful the learning rules are: measured against the implicit gradient on a living network."""

from energyc.rules.fidelity import Fidelity, Measure, RuleFidelity, verify
from energyc.rules.precision import PrecisionRow, PrecisionTable, precision_table
from energyc.rules.probe import Probe, random_probe

__all__ = [
    "Fidelity",
    "Measure",
    "PrecisionRow",
    "PrecisionTable",
    "Probe",
    "RuleFidelity",
    "precision_table",
    "random_probe",
    "verify",
]
