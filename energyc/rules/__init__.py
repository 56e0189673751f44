"""How faithful the learning rules are: measured against the implicit gradient on a living network."""

from energyc.rules.compare import Measure
from energyc.rules.fidelity import Fidelity, RuleFidelity, verify
from energyc.rules.looseness import Loose, Looseness
from energyc.rules.precision import PrecisionRow, PrecisionTable, precision_table
from energyc.rules.probe import Probe, random_probe
from energyc.rules.record import Above, Crossing, Record, record
from energyc.rules.settling import Settling
from energyc.rules.spectrum import Spectrum, spectrum
from energyc.rules.sweep import Sweep

__all__ = [
    "Above",
    "Crossing",
    "Fidelity",
    "Loose",
    "Looseness",
    "Measure",
    "PrecisionRow",
    "PrecisionTable",
    "Probe",
    "Record",
    "RuleFidelity",
    "Settling",
    "Spectrum",
    "Sweep",
    "precision_table",
    "random_probe",
    "record",
    "spectrum",
    "verify",
]
