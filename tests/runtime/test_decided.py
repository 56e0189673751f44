"""What a module's networks decide is put into the runtime that it carries; all else stays as it is written."""

from __future__ import annotations

import textwrap

import pytest

from energyc.code.module.decided import Decided

DECIDED = Decided(
    {
        "numbered": False,
        "kinked": True,
        "relax_solver": "gradient",
        "relax_measure": "residual",
        "relax_exit": "settled",
        "relax_products": None,
        "relax_auto": False,
        "batch_mates": None,
        "relax_patience": 1,
        "family_names": (),
    },
    {("solver", "gradient"): "GradientDescent", ("exit", "settled"): "Termination"},
)

CASES = [
    ("if net.numbered:\n    a()\nb()\n", "b()\n"),
    ("if net.kinked:\n    a()\nelse:\n    c()\nb()\n", "a()\nb()\n"),
    ("if net.numbered:\n    a()\nelse:\n    c()\nb()\n", "c()\nb()\n"),
    ("if net.numbered:\n    a()\nelif x:\n    c()\nelse:\n    d()\n", "if x:\n    c()\nelse:\n    d()\n"),
    ("if x:\n    a()\nelif net.kinked:\n    c()\n", "if x:\n    a()\nelse:\n    c()\n"),
    ("if x:\n    a()\nelif net.numbered:\n    c()\nb()\n", "if x:\n    a()\nb()\n"),
    ("if x:\n    a()\nelif net.numbered:\n    c()\nelse:\n    d()\n", "if x:\n    a()\nelse:\n    d()\n"),
    (
        "if x:\n    a()\nelif net.numbered:\n    c()\nelif y:\n    d()\n",
        "if x:\n    a()\nelif y:\n    d()\n",
    ),
    ("def f():\n    if net.kinked:\n        return a\n    return b\n", "def f():\n    return a\n"),
    ("if not net.kinked and x:\n    a()\nb()\n", "b()\n"),
    ("if x and net.kinked:\n    a()\n", "if x:\n    a()\n"),
    ("if x or net.kinked:\n    a()\n", "a()\n"),
    ("if (x or y) and net.kinked and z:\n    a()\n", "if (x or y) and z:\n    a()\n"),
    ("if (x or y) and net.kinked:\n    a()\n", "if x or y:\n    a()\n"),
    ("if x and y or net.numbered or z:\n    a()\n", "if x and y or z:\n    a()\n"),
    ("if net.relax_solver != 'gradient' or phase.auto:\n    a()\nb()\n", "b()\n"),
    ("x = a if net.coupled else b\n", "x = b\n"),
    ("x = (a if net.numbered else b) if y is None else z\n", "x = b if y is None else z\n"),
    ("x = (a if net.numbered else b or c) + 1\n", "x = (b or c) + 1\n"),
    ("x = chosen('solver', net.relax_solver)(net)\n", "x = GradientDescent(net)\n"),
    ("x = chosen('penalty', 'defence')(net)\n", 'x = absent("penalty", "defence")(net)\n'),
    ("if carries('solver', 'gradient') and y:\n    a()\n", "if y:\n    a()\n"),
    ("if net.relax_patience > 1:\n    a()\nb()\n", "b()\n"),
    ("@part('exit', 'settled')\nclass Termination:\n    x = 1\n", "class Termination:\n    x = 1\n"),
    (
        "x = first(\n    aaa, bbb if net.kinked else ccc\n)\n",
        "x = first(aaa, bbb)\n",
    ),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text.split("\n")[0] for text, _ in CASES])
def test_what_is_decided_is_put_in(text: str, expected: str) -> None:
    assert DECIDED.of(text, of_network=False) == expected


@pytest.mark.parametrize(
    "text",
    [
        "x = steps or 0\n",
        "x = a and None\n",
        "if kind.kinked:\n    a()\n",
        "if self.kinked:\n    a()\n",
        "if net.constrained:\n    a()\n",
        "x = chosen('solver', name)\n",
        "net.kinked = True\n",
    ],
)
def test_what_is_not_decided_stays(text: str) -> None:
    """A literal is what it is, an attribute of something else is another one, and a name is known when it runs."""
    assert DECIDED.of(text, of_network=False) == text


def test_of_a_network_itself_is_its_own_attribute() -> None:
    text = textwrap.dedent("""\
        class Network:
            def rows(self):
                if self.numbered:
                    return a
                return b
        """)
    assert DECIDED.of(text, of_network=True) == "class Network:\n    def rows(self):\n        return b\n"


def test_where_networks_of_a_module_differ_parts_are_looked_up() -> None:
    apart = Decided({"kinked": True}, {("solver", "gradient"): "GradientDescent"})
    text = "@part('solver', 'gradient')\nclass GradientDescent:\n    x = chosen('solver', net.relax_solver)\n"
    assert apart.of(text, of_network=False) == text
