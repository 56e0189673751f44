"""The adjoint of an equilibrium and of the steps that led there, and what autograd makes of them.

``implicit`` solves the adjoint equation, ``backpropagation`` goes back through recorded steps. ``autograd`` has the
ways through a network that autograd can take, and the operation that takes one.

Imports: ``convergence``, ``equations``, ``relaxation``, ``tensors``; libraries: ``torch``.
"""
