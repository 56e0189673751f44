"""The version, which generated modules carry in their heads.

Imports: nothing.
"""

__version__ = "0.2.0"
