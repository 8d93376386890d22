"""Errors that the package raises."""

from __future__ import annotations

import pytest

from kubeapi.field_path import FieldPath
from validators import field
from workloadbuilder.errors import BlockError, BuildError, in_order


@pytest.mark.parametrize("kind", [BlockError, BuildError])
def test_text_has_a_line_for_each_error_and_the_whole_object_no_path(kind):
    raised = kind([field.required(FieldPath("a"), "b"), field.invalid_struct(FieldPath(), "c")])

    assert "a: Required value: b\nInvalid value: c" == str(raised)
    assert 2 == len(raised.errors)
    assert isinstance(raised, ValueError)


def test_order_is_by_path_with_numbers_as_numbers_then_by_text():
    ten, two = FieldPath("a", 10), FieldPath("a", 2)
    expected = [
        field.required(FieldPath("a")),
        field.required(two, "x"),
        field.required(two, "y"),
        field.required(ten),
        field.required(FieldPath("b")),
    ]

    assert tuple(expected) == in_order(reversed(expected))
