"""The equations of one network as a generated module states them, and a user's inputs and results.

The base class of equations; the pullbacks that autograd takes of them; the records that the rooms pass to each other;
the inputs of a user, checked; the averages that make gradients of what a rule measured.

Imports: ``runtime``, ``tensors``; libraries: ``torch``.
"""
