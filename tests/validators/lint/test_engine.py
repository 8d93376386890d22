"""Objects of files that are examined together: what is looked up, and the violations of an object and of its change."""

from __future__ import annotations

import pytest

from validators import pipeline
from validators.field import ErrorType, FieldError, FieldPath
from validators.lint.engine import Pending, is_replaced, second_pass
from validators.object_lookup import group_rank
from validators.rules.base import Settings, Severity


def decoded(**metadata):
    return pipeline.decode_for_lookup({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "metadata": metadata, "spec": {}})


@pytest.mark.parametrize(
    ("metadata", "want"),
    [
        pytest.param({"name": "w"}, True, id="its name"),
        pytest.param({"name": "other"}, False, id="another name"),
        pytest.param({"generateName": "w"}, False, id="a name that is made for each"),
    ],
)
def test_an_object_that_is_looked_up_is_replaced_by_one_of_its_name(metadata, want):
    assert want == is_replaced(decoded(**metadata), lambda kind, _, name, rank: (kind, rank) == ("Workload", 0) and name in {"w", ""})


def test_an_object_that_is_looked_up_is_not_replaced_by_one_of_another_api_group():
    custom = {"apiVersion": "scheduling.muster.dev/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": {}}
    builtin = pipeline.decode_for_lookup({**custom, "apiVersion": "scheduling.k8s.io/v1beta1"})
    names = {("PodGroup", "default", "g", group_rank(pipeline.decode_for_lookup(custom)))}

    assert not is_replaced(builtin, lambda *name: name in names)


def violation(detail):
    return pipeline.Violation(FieldError(ErrorType.INVALID, FieldPath(("spec",)), None, detail), Severity.ERROR)


@pytest.mark.parametrize(("old", "want"), [(None, ["a", "b"]), (decoded(name="w"), ["a", "b", "c"])])
def test_a_violation_that_an_object_and_its_change_have_is_reported_once(monkeypatch, old, want):
    monkeypatch.setattr(pipeline, "validate_document", lambda *_, **__: (violation("a"), violation("b")))
    monkeypatch.setattr(pipeline, "validate_change", lambda *_, **__: (violation("b"), violation("c")))
    pending = Pending(decoded(name="w"), None, old=old)

    ((_, found),) = second_pass(["place"], lambda _: pending, lambda: None, Settings())
    assert want == [each.error.detail for each in found["place"]]
