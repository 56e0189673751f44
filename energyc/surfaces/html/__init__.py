"""HTML: pages and cards that stand by themselves, without any request to a network.

| module | content |
|---|---|
| ``pages`` | the templates in ``templates``, with the styles and the scripts of pages; charts as SVG |
| ``boxes`` | boxes in columns and the lines between them, as SVG |
| ``diagram`` | which state acts on which, through which terms; which layer reads what |
| ``cards`` | what a notebook shows of a network, a run, a relaxation, gradients |
| ``attach`` | gives those cards to what a generated module makes |

Text from specs and run folders is untrusted: a template escapes all that is not ``Markup``.

Imports: ``charts``, ``claims``, ``derive``, ``diagnostics``, ``ir``, ``network``, ``notation``, ``runtime``,
``symbolic``, ``tables``; libraries: ``jinja2``, ``markupsafe``.
"""
