"""The version, which generated modules carry in their heads.

Imports: nothing.
"""

__version__ = "0.1.0"
