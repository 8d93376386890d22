"""Validating and mutating verdicts: defaults, fields left alone, and refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubeapi.groups import PROTECTION_FINALIZERS
from kubeapi.versions import served_versions
from tests import builders
from validators import pipeline
from validators.object_lookup import NOTHING, KnownObjects
from validators.rules.base import Profile, Settings, Severity
from webhooks.admission import jsonpatch
from webhooks.admission import verdict as admit
from webhooks.admission.review import AdmissionRequest, BadReview, Verdict
from webhooks.admission_options import Finalizers

HIGH = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
EMPTY = KnownObjects((), complete=True)
PODGROUP_FINALIZER, COMPOSITE_FINALIZER = PROTECTION_FINALIZERS["PodGroup"], PROTECTION_FINALIZERS["CompositePodGroup"]


def group(kind: str = "PodGroup", **spec: Any) -> dict[str, Any]:
    return builders.group(kind, "a", 1 if kind == "PodGroup" else 0, **spec)


def pod(**spec: Any) -> dict[str, Any]:
    return builders.manifest("v1", "Pod", "a", {"containers": [{"name": "c"}], **spec})


def request(after: dict[str, Any], before: dict[str, Any] | None = None, **changes: Any) -> AdmissionRequest:
    api_group, _, version = after["apiVersion"].rpartition("/")
    given: dict[str, Any] = {
        "uid": "u",
        "group": api_group,
        "version": version,
        "kind": after["kind"],
        "operation": "CREATE" if before is None else "UPDATE",
        "name": "a",
        "new": json.dumps(after).encode(),
        "old": None if before is None else json.dumps(before).encode(),
    }
    return AdmissionRequest(**(given | changes))


def classes(*manifests: dict[str, Any]) -> KnownObjects:
    return KnownObjects([result for each in manifests if (result := pipeline.decode_for_lookup(each))], complete=True)


def mutated(
    new: dict[str, Any], lookup: Any = EMPTY, finalizers: Finalizers = Finalizers.PODGROUP, **settings: Any
) -> tuple[dict[str, Any], Verdict]:
    verdict = admit.mutate(request(new), lookup, Settings(**settings), finalizers)
    return jsonpatch.apply(new, verdict.patch), verdict


def test_a_group_is_completed() -> None:
    after, _ = mutated(group(priorityClassName="high"), classes(HIGH))

    assert after["spec"]["disruptionMode"] == {"single": {}}
    assert (
        after["spec"]["priority"],
        after["spec"]["priorityClassName"],
        after["spec"]["preemptionPolicy"],
    ) == (1000, "high", "PreemptLowerPriority")
    assert after["metadata"]["finalizers"] == [PODGROUP_FINALIZER]


def test_mutating_again_changes_nothing() -> None:
    after, _ = mutated(group(priorityClassName="high"), classes(HIGH))

    assert mutated(after, classes(HIGH))[1].patch == ()


def test_fields_that_nobody_knows_survive() -> None:
    after, _ = mutated(group(somethingNew={"a": [1]}))

    assert after["spec"]["somethingNew"] == {"a": [1]}


def test_with_no_classes_known_no_priority_is_filled_in() -> None:
    """An unknown class is neither refused nor guessed."""
    after, verdict = mutated(group(priorityClassName="high"), NOTHING)

    assert verdict.allowed
    assert "priority" not in after["spec"]


def test_in_an_empty_cluster_the_priority_is_zero() -> None:
    assert mutated(group())[0]["spec"]["priority"] == 0


@pytest.mark.parametrize(
    ("kind", "finalizers", "want"),
    [
        ("PodGroup", Finalizers.NONE, []),
        ("PodGroup", Finalizers.PODGROUP, [PODGROUP_FINALIZER]),
        ("PodGroup", Finalizers.ALL, [PODGROUP_FINALIZER]),
        ("CompositePodGroup", Finalizers.NONE, []),
        ("CompositePodGroup", Finalizers.PODGROUP, []),
        ("CompositePodGroup", Finalizers.ALL, [COMPOSITE_FINALIZER]),
    ],
)
def test_finalizers(kind: str, finalizers: Finalizers, want: list[str]) -> None:
    assert want == mutated(group(kind), finalizers=finalizers)[0]["metadata"].get("finalizers", [])


def test_other_finalizers_keep_their_place() -> None:
    new = group()
    new["metadata"]["finalizers"] = ["example.com/first"]

    assert mutated(new)[0]["metadata"]["finalizers"] == ["example.com/first", PODGROUP_FINALIZER]


def test_no_finalizer_is_added_on_update() -> None:
    verdict = admit.mutate(request(group(), group()), EMPTY, Settings(), Finalizers.ALL)

    assert not any("finalizers" in operation["path"] for operation in verdict.patch)


@pytest.mark.parametrize(
    ("profile", "want"),
    [
        (Profile.UPSTREAM, "no PriorityClass with name none was found"),
        (Profile.KEP, "no PriorityClass with name none was found [muster: priority-class-exists]"),
    ],
)
def test_an_unknown_class_is_refused_as_the_plugin_does(profile: Profile, want: str) -> None:
    verdict = mutated(group(priorityClassName="none"), profile=profile)[1]

    assert verdict.status is not None
    assert (False, 403, "Forbidden", want) == (verdict.allowed, verdict.status["code"], verdict.status["reason"], verdict.status["message"])


def test_the_refusal_can_be_made_a_warning() -> None:
    verdict = mutated(group(priorityClassName="none"), severities=(("priority-class-exists", Severity.WARNING),))[1]

    assert verdict.allowed
    assert len(verdict.warnings) == 1
    assert any(operation["path"] == "/metadata/finalizers" for operation in verdict.patch)


def test_a_pods_priority_is_restored_on_update() -> None:
    old = pod(priority=1000, preemptionPolicy="Never")
    verdict = admit.mutate(request(pod(), old), EMPTY, Settings(), Finalizers.PODGROUP)
    after = jsonpatch.apply(pod(), verdict.patch)

    assert (after["spec"]["priority"], after["spec"]["preemptionPolicy"]) == (1000, "Never")


@pytest.mark.parametrize("changes", [{"subresource": "status"}, {"operation": "DELETE", "new": None}])
def test_what_is_not_a_spec_is_not_mutated(changes: dict[str, Any]) -> None:
    assert admit.mutate(request(group(), group(), **changes), EMPTY, Settings(), Finalizers.ALL).patch == ()


def test_a_dry_run_does_what_a_real_run_would() -> None:
    real, dry = (admit.mutate(request(group(), dry_run=dry), EMPTY, Settings(), Finalizers.PODGROUP) for dry in (False, True))

    assert real == dry


def test_an_object_of_wrong_types_is_left_to_validation() -> None:
    assert Verdict(allowed=True) == mutated(group(priority="high"))[1]


@pytest.mark.parametrize("path", [admit.validate, lambda *given: admit.mutate(*given, Finalizers.PODGROUP)], ids=["validate", "mutate"])
def test_an_unknown_kind_is_let_through_with_a_warning(path: Any) -> None:
    new = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
    verdict = path(request(new), EMPTY, Settings())

    assert verdict.allowed
    assert "Deployment.apps" in verdict.warnings[0]


@pytest.mark.parametrize("version", ["scheduling.muster.dev/v1", "scheduling.k8s.io/v9"])
def test_an_unknown_version_is_let_through_unchanged_with_a_warning(version: str) -> None:
    known = served_versions.current("PodGroup", version.partition("/")[0])
    for answer in (admit.mutate, admit.admit):
        verdict = answer(request(group() | {"apiVersion": version}), EMPTY, Settings(), Finalizers.ALL)

        assert (verdict.allowed, verdict.patch) == (True, ())
        assert all(each.name in verdict.warnings[0] for each in known)
        assert len(verdict.warnings) == 1


def test_of_another_project_every_version_is_known() -> None:
    verdict = admit.validate(request({"apiVersion": "jobset.x-k8s.io/v9", "kind": "JobSet", "metadata": {"name": "a"}}), EMPTY, Settings())

    assert verdict.warnings == ()


def test_a_class_is_checked_before_the_plugin_speaks() -> None:
    """Validation first (422, with causes), then the missing default (403), as in the API server."""
    default = HIGH | {"globalDefault": True}
    second = HIGH | {"metadata": {"name": "second"}, "globalDefault": True}
    bad = second | {"value": 2_000_000_000}
    lookup = classes(default)

    assert [admit.validate(request(each), lookup, Settings()).code for each in (second, bad)] == [403, 422]


def test_admit_validates_what_the_mutation_made() -> None:
    """A system class sets a priority that groups must not have."""
    verdict = admit.admit(request(group(priorityClassName="system-node-critical")), EMPTY, Settings(), Finalizers.PODGROUP)

    assert verdict.status is not None
    assert [cause["field"] for cause in verdict.status["details"]["causes"]] == ["spec.priority"]


def test_admit_gives_the_patch_of_the_mutation() -> None:
    verdict = admit.admit(request(group()), EMPTY, Settings(), Finalizers.PODGROUP)

    assert verdict.allowed
    assert verdict.patch


@pytest.mark.parametrize("text", [b"{", b'{"spec":' + b'{"a":' * 5000 + b"1" + b"}" * 5001], ids=["cut off", "nested without end"])
@pytest.mark.parametrize("path", [admit.validate, lambda *given: admit.mutate(*given, Finalizers.PODGROUP)], ids=["validate", "mutate"])
def test_an_unreadable_object_is_a_bad_review(path: Any, text: bytes) -> None:
    with pytest.raises(BadReview):
        path(request(group(), new=text), EMPTY, Settings())


def test_hundreds_of_levels_are_no_crash() -> None:
    """Deeper than any valid tree, within the limit of the JSON reader: it gets an answer."""
    spec: dict[str, Any] = {"podGroupTemplates": [{"name": "leaf", "schedulingPolicy": {"basic": {}}}]}
    for number in range(150):
        spec = {"compositePodGroupTemplates": [{"name": f"c{number}", "schedulingPolicy": {"basic": {}}, **spec}]}
    new = {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "Workload", "metadata": {"name": "w", "namespace": "default"}, "spec": spec}
    verdict = admit.validate(request(new, new), EMPTY, Settings())

    assert verdict.rules == ("template-depth",)


@pytest.mark.parametrize("kind", ["PodGroup", "CompositePodGroup"])
@pytest.mark.parametrize("spec", [None, "absent"])
def test_a_group_without_a_spec_is_completed_at_once(kind: str, spec: str | None) -> None:
    new = group(kind) | {"spec": None}
    if spec == "absent":
        del new["spec"]
    after, _ = mutated(new)

    assert after["spec"]["disruptionMode"] == {"single": {}}
    assert mutated(after)[1].patch == ()


@pytest.mark.parametrize("kind", ["Workload", "PodGroup", "CompositePodGroup", "PriorityClass", "Pod", "Job"])
@pytest.mark.parametrize("version", ["v1", "v1alpha1", "v1alpha2", "v1alpha3", "v1beta1", "v9"])
def test_a_wrong_type_is_reported_in_whatever_version(kind: str, version: str) -> None:
    api_group = {"Pod": "", "Job": "batch"}.get(kind, "scheduling.k8s.io")
    new = {"apiVersion": f"{api_group}/{version}".strip("/"), "kind": kind, "metadata": {"name": 7, "namespace": "default"}}
    verdict = admit.validate(request(new, group=api_group, version=version), EMPTY, Settings())

    assert verdict.status is not None
    assert [cause["field"] for cause in verdict.status["details"]["causes"]] == ["metadata.name"]
