"""What rules declare of themselves, and that a file which declares nothing is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from energyc.runtime.rules import RULES, _declarations


def test_which_take_back_the_last_steps_alone() -> None:
    assert {name for name, rule in RULES.items() if rule.truncates} == {"tbptt"}


def test_which_correct_states_that_move() -> None:
    assert {name for name, rule in RULES.items() if rule.corrects_moving_states} == {"tracking-aep", "dyadic-ep"}


def test_they_are_in_the_order_of_their_places() -> None:
    places = [rule.place for rule in RULES.values()]
    assert places == sorted(places) and len(set(places)) == len(places)


@pytest.mark.parametrize(
    "text",
    [
        "def ep(net):\n    '''A function.'''\n",
        "@cache\ndef ep(net):\n    '''A decorated one.'''\n",
        "@part('rule', 'ep')\ndef ep(net):\n    '''A part.'''\n",
        "@runtime.rule('ep', place=10, exact='any')\ndef ep(net):\n    '''By another name.'''\n",
    ],
)
def test_a_file_without_a_rule_is_an_error(text: str, tmp_path: Path) -> None:
    file = tmp_path / "ep.py"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="declares no rule"):
        next(_declarations(file))


def test_a_rule_is_read_from_its_decorator(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    text = "@cache\n@rule('mine', place=7, exact='any', settings=('steps',))\ndef f(net):\n    '''Made up.'''\n"
    file.write_text(text, encoding="utf-8")
    found = next(_declarations(file))
    assert (found.name, found.place, found.exact, found.settings) == ("mine", 7, "any", ("steps",))
