"""A module under construction, as all targets share it.

In: the plan of a module and the options that it is made with. Out: the :class:`Context` that printers of equations read
(names that are free, sizes by name, what is fixed and what is constant), how a module names the runtime, and the folder
with a copy of it (``standalone``). It imports no torch.

Imports: ``diagnostics``, ``ir``, ``network``, ``notation``, ``operators``, ``plan``, ``resources``, ``runtime``,
``sparse``, ``tree``, ``version``.
"""
