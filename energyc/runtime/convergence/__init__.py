"""Return whether samples converged: checks that warn, trials that find out why not, and the causes in words.

Imports: ``equations``, ``relaxation``, ``tensors``; libraries: ``torch``.
"""
