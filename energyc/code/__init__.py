"""From a derivation to the text of a module.

In: a network with its derivation and classes. Out: the text of a module: torch, with kernels in C++ or Triton.

| room | content |
|---|---|
| ``plan`` | what is computed once, at each step, at each update, and in which order |
| ``loops`` | the step of a phase as loop nests and matrix products on a tile of samples |
| ``tree`` | generated code as a tree of statements and expressions, with a printer a language |
| ``module`` | what all targets share of a module under construction: names, imports, standalone folders |
| ``operators`` | a living network as registered operators of torch |
| ``targets`` | what modules are written for: the contract of a target, and the registry of those that there are |

It imports the wings ``mathematics``, ``language`` and ``derivation``, and of ``runtime`` the names that modules read.
"""
