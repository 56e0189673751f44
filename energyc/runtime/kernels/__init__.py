"""Phases by compiled kernels, in C++ and in Triton.

Imports: ``equations``, ``files``, ``networks``, ``relaxation``, ``tensors``; libraries: ``torch``,
``triton``.
"""
