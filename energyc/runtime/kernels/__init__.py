"""Phases by compiled kernels, in C++ and in Triton.

Imports: ``equations``, ``files``, ``networks``, ``relaxation``, ``resources``, ``tensors``; libraries: ``torch``,
``triton``.
"""
