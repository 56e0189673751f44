"""Facts of a tree: reads, assignments, attributes, free names, and which statements nothing needs."""

from __future__ import annotations

from energyc.code.tree import facts, python
from energyc.code.tree import statements as s
from energyc.code.tree.quotation import quote, quote_body


def test_reads_and_assignments():
    body = quote_body("a = b + c.d\nfor k in range(n):\n    self.x[k] = f(y=z)\n(p, q) = r")
    assert facts.reads(*body) == {"b", "c", "range", "n", "self", "k", "f", "z", "r"}
    assert facts.assigned(*body) == {"a", "k", "p", "q"}


def test_attributes_of_a_name():
    body = quote_body("x = fixed.drive + self.mask.T\nself.y = other.fixed.z")
    assert facts.attributes("fixed", *body) == {"drive"}
    assert facts.attributes("self", *body) == {"mask", "y"}


def test_dead_assignments_are_dropped():
    body = quote_body("a = x\nb = a\nb += c\nb.add_(c, alpha=2)\nd = a * 2\nd.mul_(3)\n(e, f) = g")
    assert python.lines(facts.live(body, {"d", "f"})) == ["a = x", "d = a * 2", "d.mul_(3)", "(e, f) = g"]
    assert facts.live(body) == ()


def test_a_name_that_is_given_anew_does_not_keep_its_first_value():
    body = quote_body("a = x\na = y\nreturn a")
    assert python.lines(facts.live(body)) == ["a = y", "return a"]


def test_what_a_loop_carries_is_kept():
    body = quote_body("a = x\nfor k in range(3):\n    b = a\n    c = 0\n    a = b + k")
    kept = facts.live(body, {"a"})
    assert python.lines(kept) == ["a = x", "for k in range(3):", "    b = a", "    a = b + k"]


def test_free_names():
    body = quote_body("@torch.no_grad()\ndef f(x: Tensor, y=one) -> list[Tensor]:\n    z = x + g(y)\n    return [z, w]")
    made = s.Class("C", (*body, *quote_body("w = v")), (quote("Base"),))
    assert facts.free_names(made) == {"torch", "Tensor", "one", "list", "g", "w", "v", "Base"}
    assert facts.free_names(s.Module((*quote_body("w = 1\ng = h"), made))) == {
        "torch", "Tensor", "one", "list", "v", "Base", "h",
    }  # fmt: skip
