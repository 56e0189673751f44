"""Sums of products: the plainest operation that computes each.

Layouts: a batched tensor has the batch axis first, then the dims of its node. A label ``"B"`` stands for it here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from energyc.code.targets.arrays.code import ALL, Code, product
from energyc.code.tree.expressions import Attribute, Call, String

Label = int | str
BATCH = "B"
#: The size of each label, but for the batch.
Sizes = Mapping[Label, int]


def arranged(code: Code, labels: Sequence[Label], out: Sequence[Label]) -> Code:
    """A tensor with axes ``labels`` viewed so that it broadcasts to ``out``; every label occurs in ``out``."""
    if code.mean is not None:
        return replace(arranged(code.plain, labels, out), mean=arranged(code.mean, labels, out), over=code.over)
    order = sorted(labels, key=list(out).index)
    if list(order) != list(labels):
        code = _permuted(code, [list(labels).index(a) for a in order])
    missing = [a not in labels for a in out]
    while missing and missing[0]:
        missing.pop(0)
    if not any(missing):
        return code
    slots = [None if gone else ALL for gone in missing]
    while slots[-1] is ALL:
        slots.pop()
    return code.at(*slots)


def _permuted(code: Code, order: Sequence[int]) -> Code:
    if code.mean is not None:
        return replace(_permuted(code.plain, order), mean=_permuted(code.mean, order), over=code.over)
    if code.permuted is not None:
        code, before = code.permuted
        order = [before[k] for k in order]
    swapped = [k for k, j in enumerate(order) if k != j]
    if not swapped:
        return code
    match code.expr:
        case Call(Attribute(_, "einsum") as function, (String(equation), *operands)):
            read, written = equation[: -len(order)], equation[-len(order) :]  # a letter for each axis ends it
            equation = read + "".join(written[k] for k in order)
            return replace(code, expr=Call(function, (String(equation), *operands)), permuted=None)
    if list(order) == [1, 0]:
        made = code.attribute("T")
    elif len(swapped) == 2:
        made = code.swapped(*swapped)
    else:
        made = code.reordered(order)
    return replace(made, permuted=(code, tuple(order)))


def letters(labels: Iterable[Label], wishes: Mapping[Label, str]) -> dict[Label, str]:
    """A letter for each label; wishes are honoured in order, the batch is always ``B``.

    A label without a wish of its own gets a letter that no other one wishes for, as long as there is any.
    """
    distinct = list(dict.fromkeys(labels))
    wished = {letter for label in distinct for letter in wishes.get(label, "")}
    alphabet = "abcdefghijklmnopqrstuvwxyzACDEFGHIJKLMNOPQRSTUVWXYZ"
    free = [*(c for c in alphabet if c not in wished), *(c for c in alphabet if c in wished)]
    chosen: dict[Label, str] = {}
    for label in distinct:
        chosen[label] = "B" if label == BATCH else next((c for c in wishes.get(label, "") if c in free), free[0])
        if label != BATCH:
            free.remove(chosen[label])
    return chosen


def diagonal(code: Code, labels: Sequence[Label], wishes: Mapping[Label, str]) -> tuple[Code, list[Label]]:
    """A tensor with a label twice, on that diagonal; the labels that it has then."""
    distinct = list(dict.fromkeys(labels))
    names = letters(distinct, wishes)
    equation = "".join(names[x] for x in labels) + "->" + "".join(names[x] for x in distinct)
    return code.einsum(equation), distinct


def reduction(code: Code, labels: Sequence[Label], out: Sequence[Label]) -> Code:
    """A tensor summed over the labels that are not in ``out``, in the order of ``out``."""
    summed = [k for k, a in enumerate(labels) if a not in out]
    if summed:
        axes = summed[0] if len(summed) == 1 else tuple(summed)
        over = () if len(summed) == len(labels) else (axes,)
        mean = code.method("mean", *over)
        code = replace(code.method("sum", *over), mean=mean, over=tuple(labels[k] for k in summed))
    remaining = [a for a in labels if a in out]
    order = [remaining.index(a) for a in out if a in remaining]
    return code if order == sorted(order) else _permuted(code, order)


def summed_where_unshared(code: Code, labels: Sequence[Label], wanted: Sequence[Label]) -> tuple[Code, list[Label]]:
    """A tensor summed over the labels that nothing else reads, and its remaining labels."""
    remaining = [x for x in labels if x in wanted]
    if len(remaining) == len(labels) or len(set(labels)) != len(labels):
        return code, list(labels)
    return reduction(code, labels, remaining), remaining


def as_matrix_product(a: Code, la: Sequence[Label], b: Code, lb: Sequence[Label], out: Sequence[Label]) -> Code | None:
    """``a @ b``, ``a @ b.T`` where a's last axis is summed against a matrix b and the rest keeps its order."""
    if len(lb) != 2 or lb[0] == lb[1] or not la or len(set(la) & set(lb)) != 1 or len(set(la)) != len(la):
        return None
    (k,) = set(la) & set(lb)
    (n,) = set(lb) - {k}
    if la[-1] != k or k in out or list(out) != [*la[:-1], n]:
        return None
    return product(a, b if lb[0] == k else b.attribute("T"), "@")


def as_gram(a: Code, la: Sequence[Label], b: Code, lb: Sequence[Label], out: Sequence[Label]) -> Code | None:
    """``a.T @ b`` of two matrices summed over their first axes."""
    if len(la) != 2 or len(lb) != 2 or la[0] != lb[0] or list(out) != [la[1], lb[1]] or len({*la, *lb}) != 3:
        return None
    return product(a.attribute("T"), b, "@")


def as_matrix_vector(a: Code, la: Sequence[Label], b: Code, lb: Sequence[Label], out: Sequence[Label]) -> Code | None:
    """``a @ b`` where b is a vector summed against a's last axis."""
    if len(lb) != 1 or len(la) < 2 or len(set(la)) != len(la) or la[-1] != lb[0] or list(out) != list(la[:-1]):
        return None
    return product(a, b, "@")


def pairwise(
    a: Code,
    la: Sequence[Label],
    b: Code,
    lb: Sequence[Label],
    out: Sequence[Label],
    wishes: Mapping[Label, str],
    sizes: Sizes,
) -> Code:
    """``sum of a * b`` over the labels not in ``out``."""
    if set(la) | set(lb) <= set(out) and len(set(la)) == len(la) and len(set(lb)) == len(lb):
        return product(arranged(a, la, out), arranged(b, lb, out))
    for left, ll, right, lr in ((a, la, b, lb), (b, lb, a, la)):
        for form in (as_matrix_product, as_matrix_vector, as_gram):
            if (code := form(left, ll, right, lr, out)) is not None:
                return code
    summed = None
    if set(la) == set(lb) and len(set(la)) == len(la) and len(set(lb)) == len(lb):
        summed = reduction(product(a, arranged(b, lb, la)), la, out)
        if a.expr == b.expr or math.prod(sizes.get(x, 1) for x in la) < a.joined:
            return summed
    names = letters([*out, *la, *lb], wishes)
    equation = (
        ",".join("".join(names[x] for x in labels) for labels in (la, lb)) + "->" + "".join(names[x] for x in out)
    )
    joined = a.einsum(equation, b)
    return joined if summed is None else replace(joined, mean=summed.mean, over=summed.over)
