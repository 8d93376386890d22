"""A text that a check refuses is found, although no given text is near it, and told."""

from __future__ import annotations

import pytest

from tests.reliability import guided

pytest.importorskip("atheris")


def planted(text: str) -> None:
    """Refuse one text, which no mutation finds at once: each of its characters leads to another branch."""
    if text[:1] == "k":
        if text[1:2] == "e":
            if text[2:3] == "y":
                raise ValueError("planted")


def test_a_planted_fault_is_found_by_the_branches_on_its_way(tmp_path):
    (failure,) = guided.attacked("tests.reliability.test_guided:planted", 1, [b"a: 1"], tmp_path, 400_000)

    assert "ValueError: planted" in failure
    assert "key" in failure


@pytest.mark.parametrize("name", guided.CHECKS)
def test_checks_hold_for_a_few_texts(name, tmp_path):
    assert () == guided.attacked(guided.CHECKS[name], 1, [b"a: 1", b"device.driver"], tmp_path, 500)
