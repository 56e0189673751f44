"""The language server: ``serve``.

documents    a document's text in an editor's lines and units
reading      a version of a text, as far as the front end understands it
symbols      its names where they stand, as ``resolve`` found them, and those of statements that do not parse; the
             words of the language where they stand
words        what is said of these
place        the surroundings of a place by words and signs alone, for completion in a statement that is being typed
analysis     ``energyc check`` on saved texts, in processes of their own, one or two at a time
server       the protocol: documents, debouncing, and which module answers what

The features are in ``completion``, ``hover``, ``navigation``, ``outline``, ``decorations`` and ``diagnostics``. A
feature is a function of a ``View``, a text with its reading, and knows nothing of the protocol but its types. While
someone types only the front end runs; torch and sympy are imported by nothing here.

Imports: ``claims``, ``data``, ``derive``, ``diagnostics``, ``functions``, ``ir``, ``network``, ``notation``,
``resolve``, ``resources``, ``runtime``, ``settings``, ``syntax``, ``version``; libraries: ``lsprotocol``, ``pygls``.
"""
