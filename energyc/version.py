"""The version, which generated modules carry in their heads."""

__version__ = "0.1.0"
