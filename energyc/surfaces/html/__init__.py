"""HTML: pages and cards that stand by themselves, without any request to a network.

| module | content |
|---|---|
| ``markup`` | elements with escaped text, whole pages, styles and scripts of this package |
| ``verdicts`` | verdicts as coloured words |
| ``tables`` | the layout of a table |
| ``chart`` | curves as SVG |
| ``boxes`` | boxes in columns and the lines between them, as SVG |
| ``diagram`` | which state acts on which, through which terms; ``whole``: which layer reads what |
| ``card`` | what a notebook shows of an object; ``network_card``, ``result_cards``, ``run_card`` of which |
| ``attach`` | gives those cards to what a generated module makes |

Text from specs and run folders is untrusted: it enters through ``tag``, which escapes it.

Imports: ``charts``, ``claims``, ``derive``, ``diagnostics``, ``ir``, ``network``, ``notation``, ``runtime``,
``symbolic``, ``tables``; libraries: ``markupsafe``.
"""
