"""Field paths as Kubernetes prints them; errors with type, value and requirement."""

from __future__ import annotations

import pytest

from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.field import FieldError

NAME = FieldPath("metadata", "name")


@pytest.mark.parametrize(
    ("path", "want"),
    [
        pytest.param(FieldPath(), "", id="the object itself"),
        pytest.param(FieldPath("spec") / "podGroupTemplates" / 0 / "name", "spec.podGroupTemplates[0].name", id="an index"),
        pytest.param(FieldPath("metadata", "labels", Key("a.b/c")), "metadata.labels[a.b/c]", id="a key"),
    ],
)
def test_path(path: FieldPath, want: str) -> None:
    assert want == str(path)


def test_a_path_is_not_changed_by_going_on() -> None:
    below = NAME / "x"

    assert (str(NAME), str(below)) == ("metadata.name", "metadata.name.x")
    assert below.starts_with(NAME)
    assert not NAME.starts_with(below)


@pytest.mark.parametrize(
    ("error", "want"),
    [
        pytest.param(
            field.required(NAME, "name or generateName is required"), "Required value: name or generateName is required", id="required"
        ),
        pytest.param(field.required(NAME), "Required value", id="required, no more to say"),
        pytest.param(field.invalid(NAME, "A", "must be lower case"), 'Invalid value: "A": must be lower case', id="invalid text"),
        pytest.param(field.invalid(NAME, 0, "must be positive"), "Invalid value: 0: must be positive", id="invalid number"),
        pytest.param(field.invalid_struct(NAME, "field is immutable"), "Invalid value: field is immutable", id="a struct is not shown"),
        pytest.param(field.duplicate(NAME, "a"), 'Duplicate value: "a"', id="duplicate"),
        pytest.param(field.forbidden(NAME, "item may not be added"), "Forbidden: item may not be added", id="forbidden"),
        pytest.param(field.not_supported(NAME, "x", ["a", "b"]), 'Unsupported value: "x": supported values: "a", "b"', id="enumeration"),
        pytest.param(field.too_many(NAME, 9, 8), "Too many: 9: must have at most 8 items", id="too many"),
        pytest.param(field.too_many(NAME, 2, 1), "Too many: 2: must have at most 1 item", id="the singular"),
        pytest.param(field.too_long(NAME, 32), "Too long: may not be more than 32 bytes", id="the text is not echoed"),
    ],
)
def test_message(error: FieldError, want: str) -> None:
    assert want == str(error)


def test_a_huge_value_does_not_bury_the_sentence() -> None:
    text = str(field.invalid(NAME, "x" * 10_000, "must be short"))

    assert text.endswith("…: must be short")
    assert len(text) < 300
