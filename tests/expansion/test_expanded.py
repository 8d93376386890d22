"""What arises from given objects, beside a cluster or without one."""

from __future__ import annotations

from typing import Any

import pytest

import expansion
from expansion.created import with_free_name
from expansion.notes import NotSimulated, ObjectNote, QuotaExceeded, RefusedByServer
from kubeapi.gather import gather
from kubeapi.names import Name
from kubeapi.problem import ProblemKind

Json = dict[str, Any]
TRAIN = Name("Job", "default", "train")


def named(kind: str, name: str, version: str = "v1", **fields: Any) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, **fields}


def job(pods: int = 2, **container: Any) -> Json:
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train", **container}]}
    return named("Job", "train", "batch/v1", spec={"parallelism": pods, "completions": pods, "template": {"spec": spec}})


def owned(name: str, owner: str) -> Json:
    made = named("Pod", name, spec={"containers": [{"name": "main", "image": "train"}]})
    made["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": owner, "controller": True}]
    return made


def quota(**hard: str) -> Json:
    return named("ResourceQuota", "team", spec={"hard": hard})


def names(objects: Any) -> list[str]:
    kinds, problems = gather(objects)
    assert problems == []
    return [each.content()["metadata"]["name"] for each in kinds["Pod"]]


def test_pods_arise_from_a_controller() -> None:
    expanded = expansion.expand([job(pods=2)])

    assert ["train-0", "train-1"] == [each["metadata"]["name"] for each in expanded.manifests() if each["kind"] == "Pod"]
    created = {("Workload", "train"), ("PodGroup", "train-job-root"), ("Pod", "train-0"), ("Pod", "train-1")}
    assert {Name(kind, "default", name): TRAIN for kind, name in created} == dict(expanded.origins)
    assert [] == [*expanded.skipped, *expanded.refused, *expanded.invalid, *expanded.unread]


def test_a_list_as_text_is_read_like_its_items() -> None:
    text = b'{"apiVersion": "batch/v1", "kind": "JobList", "items": [{"metadata": {"name": "a"}, "spec": {"template": {"spec": '
    text += b'{"restartPolicy": "Never", "containers": [{"name": "c"}]}}}}]}'

    assert ["a-0"] == names(expansion.expand([text]).objects)


def test_given_objects_are_not_changed() -> None:
    given, before = job(), job()
    limits = named("LimitRange", "limits", spec={"limits": [{"type": "Container", "defaultRequest": {"cpu": "4"}}]})
    expanded = expansion.expand([given], [limits])

    assert before == given
    pods = [each for each in expanded.manifests() if each["kind"] == "Pod"]
    assert [{"cpu": "4"}, {"cpu": "4"}] == [each["spec"]["containers"][0]["resources"]["requests"] for each in pods]


def test_pods_of_the_cluster_are_replaced_by_those_of_their_controller() -> None:
    expanded = expansion.expand([job(pods=1)], [owned("train-old", "train"), owned("other-0", "other")])

    assert ["train-0"] == names(expanded.objects)
    assert ["other-0"] == names(expanded.remaining)
    assert [Name("Pod", "default", "train-0")] == [each for each in expanded.names if each.kind == "Pod"]


def test_a_created_pod_gets_another_name_if_one_of_another_controller_has_it() -> None:
    expanded = expansion.expand([job(pods=1)], [owned("train-0", "other")])

    assert (["train-0-of-job"], ["train-0"]) == (names(expanded.objects), names(expanded.remaining))
    assert [Name("Pod", "default", "train-0-of-job")] == [each for each in expanded.origins if each.kind == "Pod"]


def test_the_object_for_which_a_pod_is_created_is_a_name() -> None:
    assert Name("Pod", "default", "web-0-of-statefulset") == with_free_name(
        named("Pod", "web-0"), Name("StatefulSet", "Pod of", "a b/c"), {Name("Pod", "default", "web-0")}
    )


def test_without_a_cluster_there_are_no_names() -> None:
    expanded = expansion.expand([job()])
    assert (frozenset(), []) == (expanded.names, expanded.remaining)


def test_a_quota_refuses_what_arises() -> None:
    (refused,) = expansion.expand([job(resources={"requests": {"cpu": "4"}})], [quota(**{"requests.cpu": "6"})]).refused

    assert (ProblemKind.REFUSED, (TRAIN,)) == (refused.kind, refused.names)
    assert QuotaExceeded(Name("ResourceQuota", "default", "team"), "requests.cpu", 6000, 8000) == refused.fact


@pytest.mark.parametrize(("strict", "want"), [(True, ["file:spec.template.spec.containers[0].imagePullPolicy"]), (False, [])])
def test_only_a_strict_expansion_validates_in_full(strict: bool, want: list[str]) -> None:
    expanded = expansion.expand([job(imagePullPolicy="Sometimes")], [], strict=strict, place=lambda _, path: f"file:{path}")

    assert want == [each.fact.position for each in expanded.refused if isinstance(each.fact, RefusedByServer)]


def test_values_that_decide_on_placement_are_validated_always() -> None:
    pod = named("Pod", "p", spec={"containers": [{"name": "main"}], "tolerations": [{"operator": "Never"}]})
    expanded = expansion.expand([pod])

    assert ([], [(Name("Pod", "default", "p"),)]) == (expanded.objects, [each.names for each in expanded.invalid])


def test_a_kind_that_may_create_pods_is_skipped_unless_it_is_said_to_create_none() -> None:
    widget = named("Widget", "w", "example.com/v1", spec={"template": {"spec": {"containers": []}}})
    (skipped,) = expansion.expand([widget]).skipped
    expanded = expansion.expand([widget], creation=expansion.PodCreation(without_pods=frozenset({"Widget"})))

    assert isinstance(skipped.fact, NotSimulated)
    assert "Widget.example.com" == skipped.fact.unknown_kind
    assert ([], [ObjectNote.TAKEN_WITHOUT_PODS]) == (expanded.skipped, [each.fact for each in expanded.notes])


def test_a_gang_on_request_has_all_pods_of_an_object() -> None:
    expanded = expansion.expand([job(pods=3)], creation=expansion.PodCreation(expansion.Gang("example.com/rack")))
    (group,) = (each for each in expanded.manifests() if each["kind"] == "PodGroup")

    assert {"gang": {"minCount": 3}} == group["spec"]["schedulingPolicy"]
    assert {"topology": [{"key": "example.com/rack"}]} == group["spec"]["schedulingConstraints"]


@pytest.mark.parametrize("given", [5, None, 10**15, "text", [], {}, b"{", b"[]"], ids=repr)
def test_what_is_no_object_is_skipped_and_nothing_else(given: Any) -> None:
    expanded = expansion.expand([given, job()])
    assert [ProblemKind.UNREADABLE_OBJECT] == [each.kind for each in expanded.skipped]
    assert ["train-0", "train-1"] == [each["metadata"]["name"] for each in expanded.manifests() if each["kind"] == "Pod"]


def test_every_public_name_exists() -> None:
    assert [*expansion.__all__] == [each for each in expansion.__all__ if getattr(expansion, each) is not None]
    with pytest.raises(AttributeError, match="has no attribute"):
        expansion.nothing  # noqa: B018 - the access fails
