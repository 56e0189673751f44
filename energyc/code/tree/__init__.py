"""One tree of generated code, and a printer for each language.

What enters are statements and expressions that a target builds; what leaves is the text of a program. The nodes say
nothing of brackets, line ends and indentation: those are the printer's. What a pass asks of generated code (which names
it reads, which it assigns, which of its lines nothing needs) it asks of the tree, never of text.

================  ======================================================================================
``expressions``   names, numbers, calls, operators, ... ; holes for what is filled in later
``extents``       sizes that are computed with as numbers and written as the dims that they come from
``statements``    assignments, loops, functions, classes; and the declarations that C++ has beside them
``quotation``     Python that a person wrote, with holes, as a tree
``facts``         names read and assigned, attributes; dead assignments; free names
``prose``         sentences in lines
``layout``        long lines broken at the brackets and sums that the tree has
``python``        the tree as Python (and Triton, which is Python)
``cpp``           the tree as C++
================  ======================================================================================

Imports: nothing.
"""
