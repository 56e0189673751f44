"""The formulas of a network as SymPy expressions: what a researcher takes on into a notebook.

| module | content |
|---|---|
| ``functions`` | the SymPy form of each scalar function |
| ``held`` | functions with no slope: ``frozen``, ``detach``, statistics of a batch |
| ``indices`` | index expressions as integers and conditions |
| ``symbols`` | the symbols of dims, consts and tensors |
| ``ranges`` | sums over an index: as ``Sum``, or written out at a size |
| ``elements`` | an element of a node as an expression |
| ``quantities`` | what is told of a network: terms, forces, Jacobian products, updates, costs |
| ``formulas`` | these as expressions for all sizes, and written out at small ones |
| ``source`` | a Python file that defines them |

Imports: ``derive``, ``diagnostics``, ``expressions``, ``functions``, ``ir``, ``network``, ``notation``, ``pipeline``,
``version``; libraries: ``numpy``, ``sympy``.
"""
