"""Modules whose phases run in kernels of Triton and the products of torch."""
