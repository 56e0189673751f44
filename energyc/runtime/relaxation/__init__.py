"""The free phase: a solver that combines a step method, a step-size controller, a stopping criterion and more.

``solver`` builds it from the settings of a network, and has the tables of what their values choose. Its parts are
classes of their own: step methods (``step_methods``), step-size controllers (``step_size``), stopping
criteria (``stopping``), precision (``precision``) and observers (``free_run``, ``trajectory``).

Imports: ``equations``, ``tensors``; libraries: ``torch``.
"""
