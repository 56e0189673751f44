"""How fast a compiled network is, beside other ways to compute the same.

It times generated modules; whether what they compute is right is a matter for ``verify``.

Imports: ``diagnostics``, ``equations``, ``module``, ``network``, ``plan``, ``relaxation``, ``runs``, ``settings``,
``targets``, ``verify``; libraries: ``torch``.
"""
