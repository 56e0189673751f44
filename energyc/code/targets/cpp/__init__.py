"""Modules whose phases run in kernels of C++, which are built when they are first used."""
