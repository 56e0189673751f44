"""What is known of a network and of a run, for people and for programs: text, documents, JSON, pictures.

It presents what other packages know, and measures nothing.

Imports: ``analysis``, ``calculus``, ``derive``, ``diagnostics``, ``emit``, ``ir``, ``notation``, ``pipeline``,
``plan``, ``resolve``, ``runs``, ``syntax``, ``train``, ``verify``; libraries: ``cycler``, ``matplotlib``, ``numpy``,
``rich``, ``torch``.
"""
