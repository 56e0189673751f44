"""A living network as operators of torch, so that what traces a program takes a call or a relaxation as one step.

In: a network that energyc made. Out: the same, whose calls are ``torch.ops.energyc.call`` and whose relaxations are
``torch.ops.energyc.relax`` under torch.compile, torch.export and the transforms of torch.func. A module that is copied
elsewhere carries none of it.

Imports: ``runtime``; libraries: ``torch``.
"""

from energyc.code.operators.traced import HANDLE, give

__all__ = ["HANDLE", "give"]
