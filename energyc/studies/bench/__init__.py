"""How fast a compiled network is, beside other ways to compute the same.

It times generated modules; whether what they compute is right is a matter for ``verify``.

Imports: ``diagnostics``, ``module``, ``network``, ``plan``, ``runs``, ``runtime``, ``settings``, ``targets``,
``verify``; libraries: ``torch``.
"""
