"""Public names of the package."""

from __future__ import annotations

import pytest

import workloadbuilder


@pytest.mark.parametrize("name", workloadbuilder.__all__)
def test_every_name_is_there(name):
    assert name == getattr(workloadbuilder, name).__name__


def test_another_name_is_not():
    with pytest.raises(AttributeError, match="module 'workloadbuilder' has no attribute 'helpers'"):
        workloadbuilder.helpers  # noqa: B018 - asked for on purpose
