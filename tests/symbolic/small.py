"""The shipped specs, and the models of the tests, at sizes at which they can be written out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from energyc.language.network import Network
from energyc.pipeline import Choices, read, resolve
from energyc.running.data import Schema, find_adapter, read_schema

ROOT = Path(__file__).parents[2]

#: The sizes of the shipped specs.
SPECS: Mapping[str, Mapping[str, int]] = {
    "cem": {"J": 2, "D": 2, "K": 1, "R": 1, "M": 2, "Ra": 1, "Rm": 1, "L": 1},
    "cem_literal": {"J": 2, "D": 2, "K": 1, "R": 2},
    "cem_mlp": {"I": 2, "D": 2, "M": 2},
    "cet": {"C": 1, "S": 2, "P": 1, "stride": 1, "D": 2, "H": 1, "A": 1, "M": 2},
    "cet_lm": {"T": 2, "D": 2, "H": 1},
    "deep_hopfield": {"I": 2, "J1": 2, "J2": 2, "K": 2},
    "deq": {"I": 2, "D": 3, "K": 2},
    "et_anomaly": {"N": 3, "E": 3, "F": 2, "D": 2, "H": 1, "Y": 2, "K": 2, "U": 2},
    "et_graph": {"M": 2, "F": 2, "D": 2, "H": 1, "Y": 1, "K": 2, "E": 1, "R": 2, "L": 1, "T": 1, "Z": 2},
    "et_image": {"C": 1, "S": 2, "P": 1, "D": 2, "H": 1, "Y": 1, "K": 2},
    "hopfield": {"I": 2, "J": 2, "K": 2},
    "hopfield_conv": {"C": 1, "S": 9, "P": 2, "R": 2, "C1": 1, "C2": 1, "K": 2},
    "modern_hopfield": {"D": 2, "M": 3},
    "monotone": {"I": 2, "D": 2, "K": 2},
    "predictive_coding": {"I": 2, "J": 2, "L": 2, "K": 2},
    "resistive": {"I": 2, "J": 2, "K": 2},
    "sparse_coding": {"S": 2, "P": 1, "N": 2},
    "tel": {"I": 2, "C": 2, "K": 2},
    "tel_digits": {"I": 2, "C": 2, "Z": 2, "K": 2},
    "thick": {"T": 2, "D": 2, "H": 1},
    "thick_tied": {"T": 2, "D": 2, "H": 1},
    "thin": {"T": 2, "D": 2, "H": 1},
}
MODELS: Mapping[str, Mapping[str, int]] = {
    "attention_retrieval": {"I": 2, "D": 2, "M": 2, "K": 2},
    "autoencoder": {"I": 2, "J": 2, "L": 2},
    "boltzmann": {"I": 2, "J": 2, "K": 2},
    "convolution": {"S": 4, "P": 3, "R": 2, "C": 1, "K": 2},
    "deep_equilibrium": {"D": 2},
    "dense_memory": {"D": 2, "M": 2},
    "diodes": {"J": 2},
    "dyadic": {"I": 2, "J": 2, "K": 2},
    "edges": {"N": 3, "E": 3, "G": 2, "I": 2, "D": 2, "H": 1, "Y": 1, "K": 2},
    "elastic_net": {"I": 2, "N": 2},
    "fitzhugh_nagumo": {"I": 2, "J": 2, "K": 2},
    "graph": {"N": 3, "I": 2, "D": 2, "K": 2},
    "group_lasso": {"I": 2, "G": 2, "D": 2},
    "hard_sigmoid": {"I": 2, "J": 2, "K": 2},
    "kuramoto": {"I": 2, "J": 2, "K": 2},
    "lca": {"I": 2, "M": 2},
    "linear_attention": {"N": 2, "I": 2, "D": 2, "A": 2, "K": 2},
    "llama": {"T": 2, "D": 2, "H": 1, "B": 1, "F": 2},
    "nonnegative_code": {"I": 2, "M": 2},
    "precision_coding": {"I": 2, "J": 2, "K": 2},
    "sparsemax": {"I": 2, "J": 2, "K": 2},
    "sphere": {"N": 2, "I": 2, "D": 2, "K": 2},
    "time_scales": {"I": 2, "J": 2, "L": 2, "K": 2},
    "total_variation": {"N": 3, "E": 3},
    "two_costs": {"I": 2, "J": 2, "K": 2},
}


def path(name: str) -> Path:
    """The file of a spec or model."""
    return ROOT / "specs" / f"{name}.energy" if name in SPECS else ROOT / "specs" / "zoo" / f"{name}.energy"


def small(name: str) -> Network:
    """A spec or model at its small sizes, with a text of two characters."""
    return resolve(read(path(name)), Choices(None, {**SPECS, **MODELS}[name]), _schema)


def _schema(adapter: str, options: Mapping[str, object]) -> Schema:
    schema = read_schema(find_adapter(adapter), options)
    if "vocabulary" not in schema.sizes:
        return schema
    fields = {name: replace(field, classes=2) for name, field in schema.fields.items()}
    return Schema(fields, {**schema.sizes, "vocabulary": 2})


def parts(network: Network) -> Iterator[Network]:
    """A network and its layers."""
    yield network
    for layer in network.layers.values():
        yield from parts(layer.network)
