"""The equations of one network as a generated module states them, and a user's inputs and results.

The facts that a network declares and the base class of its equations; those with kinks, and those with products of few
digits; the pullbacks that autograd takes of them; the records that the rooms pass to each other; the inputs of a user,
checked; the averages and penalties that make gradients of what a rule measured.

Imports: ``tensors``; libraries: ``torch``.
"""
