"""The kinds as custom resources: what API servers with and without the built-in kinds make of the definitions.

No webhook is installed: these are the answers of the schemas alone.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from kubeapi.versions import kubernetes_releases
from kubeapi.versions.api_versions import CUSTOM, SCHEDULING
from tests.cluster.api import ApiError
from tests.cluster.conftest import built
from tests.cluster.control_plane import ControlPlane
from tests.cluster.installed import DEPLOY
from tests.cluster.options import NO_GATES, Options
from tests.quick_yaml import documents
from tests.validators.reports.test_custom_resources import nested
from validators import rules
from validators.reports import custom_resources

VERSION = f"{CUSTOM}/v1beta1"
FOLDER = str(DEPLOY / "custom-resources")
WITHOUT_KINDS = Options(gates=NO_GATES, served=())
CURRENT = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3")
GOOD = [
    pytest.param({**content, "apiVersion": VERSION}, id=f"{rule.id}-{number}-{content['kind']}")
    for rule in rules.discover().values()
    for number, example in enumerate(rule.good)
    for content in documents(example.yaml)
    if content.get("kind") in custom_resources.KINDS and content.get("apiVersion") in CURRENT
]
MERGED = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")


@pytest.fixture(
    scope="module",
    params=[("1.30", WITHOUT_KINDS), ("1.34", WITHOUT_KINDS), ("1.37", WITHOUT_KINDS), ("1.37", Options())],
    ids=["1.30", "1.34", "1.37", "1.37 with the built-in kinds"],
)
def plane(request) -> Iterator[ControlPlane]:
    """A control plane with the definitions."""
    version, options = request.param
    with ControlPlane(options, built(version)) as started:
        applied = started.kubectl("apply", "--server-side", "-k", FOLDER, check=True)
        assert "" == applied.stderr  # no warning
        started.kubectl("wait", "--for=condition=Established", "--timeout=60s", *definitions(), check=True)
        yield started


def definitions() -> list[str]:
    return [f"crd/{each['metadata']['name']}" for each in custom_resources.definitions()]


def has_built_in_kinds(plane: ControlPlane) -> bool:
    return f"{SCHEDULING}/v1beta1" in {each["groupVersion"] for each in plane.api.send("GET", f"/apis/{SCHEDULING}").content["versions"]}


def group(name: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": VERSION,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }


def test_the_definitions_are_established_and_structural(api):
    for each in custom_resources.definitions():
        stored = api.get("CustomResourceDefinition", each["metadata"]["name"])

        assert {"NamesAccepted": "True", "Established": "True"} == {
            condition["type"]: condition["status"] for condition in stored["status"]["conditions"]
        }
        assert {name: stored["spec"][name] for name in each["spec"]} == each["spec"]


def test_applied_again_nothing_changes(plane, api):
    def versions() -> list[str]:
        return [api.get("CustomResourceDefinition", each.removeprefix("crd/"))["metadata"]["resourceVersion"] for each in definitions()]

    before = versions()
    plane.kubectl("apply", "--server-side", "-k", FOLDER, check=True)
    assert before == versions()
    assert "" == plane.kubectl("diff", "--server-side", "-k", FOLDER, check=True).stdout


@pytest.mark.parametrize("content", GOOD)
def test_what_complies_with_the_rules_is_accepted_and_kept(api, content):
    metadata = {**content["metadata"], "namespace": "default"}
    created = api.create({**content, "metadata": metadata}, dryRun="All", fieldValidation="Strict")

    defaults = {} if content["kind"] == "Workload" else {"disruptionMode": {"single": {}}}
    assert {**defaults, **content["spec"]} == created["spec"]


def test_templates_that_are_too_deep_are_kept_for_the_webhook(api):
    leaf = {"name": "leaf", "schedulingPolicy": {"gang": {"minCount": 2}}, "priority": 5}
    spec = {"compositePodGroupTemplates": [nested(5, podGroupTemplates=[leaf])]}
    workload = {"apiVersion": VERSION, "kind": "Workload", "metadata": {"name": "deep", "namespace": "default"}, "spec": spec}

    assert spec == api.create(workload, dryRun="All", fieldValidation="Strict")["spec"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param(lambda each: each["metadata"].update(name="a" * 64), "metadata.name", id="a name that no label can have"),
        pytest.param(lambda each: each.pop("spec"), "spec", id="no spec"),
        pytest.param(lambda each: each["spec"].update(priority="1"), "spec.priority", id="a wrong type"),
        pytest.param(lambda each: each["spec"].update(priority=10**9 + 1), "spec.priority", id="a priority of the system"),
        pytest.param(lambda each: each["spec"].update(preemptionPolicy="never"), "spec.preemptionPolicy", id="no such policy"),
        pytest.param(
            lambda each: each["spec"]["schedulingPolicy"]["gang"].update(minCount=0), "spec.schedulingPolicy.gang.minCount", id="no pod"
        ),
        pytest.param(
            lambda each: each["spec"].update(schedulingConstraints={"topology": [{"key": "a"}, {"key": "b"}]}),
            "spec.schedulingConstraints.topology",
            id="two keys",
        ),
        pytest.param(
            lambda each: each["spec"].update(resourceClaims=[{"name": "a", "resourceClaimName": "b"}] * 2),
            "spec.resourceClaims[1]",
            id="a key twice",
        ),
    ],
)
def test_the_schema_answers_before_the_webhook_with_the_same_field(api, change, field):
    """The rules have an error at this field too, of which the user sees nothing."""
    content = copy.deepcopy(group("a"))
    change(content)

    with pytest.raises(ApiError) as refused:
        api.create(content, dryRun="All")

    assert "Invalid" == refused.value.reason
    assert [field] == [each for each, *_ in refused.value.causes]


def test_unions_and_references_are_left_to_the_webhook(api):
    content = group("a")
    content["spec"]["schedulingPolicy"]["basic"] = {}
    content["spec"]["parentCompositePodGroupName"] = "a"

    assert api.create(content, dryRun="All")


def test_an_unknown_field_is_reported_and_dropped(plane, api):
    content = group("a")
    content["spec"]["minMember"] = 2
    refused = plane.kubectl("apply", "-f", "-", stdin=json.dumps(content))
    created = api.create(content, dryRun="All", fieldValidation="Ignore")

    assert 'unknown field "spec.minMember"' in refused.stderr
    assert "minMember" not in created["spec"]


def test_null_is_an_absent_field(api):
    content = group("a")
    content["spec"].update(priority=None, disruptionMode=None)

    assert {"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": {"single": {}}} == api.create(content, dryRun="All")["spec"]


def test_kubectl_shows_what_matters(plane, api):
    api.create(group("train"))
    conditions = [
        {
            "type": "PodGroupInitiallyScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/1 nodes",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
    api.set_status("PodGroup", "train", "default", status={"conditions": conditions}, version=VERSION)
    head, row = plane.kubectl("get", "mpg", "--output=wide", check=True).stdout.splitlines()
    by_category = plane.kubectl("get", "muster", "--output=name", check=True).stdout
    api.delete("PodGroup", "train", "default", version=VERSION)

    assert ["NAME", "MINIMUM", "PARENT", "WORKLOAD", "SCHEDULED", "REASON", "AGE"] == head.split()
    assert ["train", "2", "False", "Unschedulable"] == row.split()[:4]
    assert "podgroup.scheduling.muster.dev/train\n" == by_category


def test_status_is_written_by_its_subresource_only(api):
    conditions = [{"type": "a", "status": "True", "reason": "b", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    created = api.create({**group("train"), "status": {"conditions": conditions}})
    changed = api.set_status("PodGroup", "train", "default", status={"conditions": conditions}, version=VERSION)
    api.delete("PodGroup", "train", "default", version=VERSION)

    assert "status" not in created
    assert conditions == changed["status"]["conditions"]


def test_where_both_are_served_the_name_without_a_group_is_that_of_the_built_in_kind(plane):
    named = plane.kubectl("get", "podgroups", "--output=name", "--v=6").stderr

    assert ("/apis/scheduling.muster.dev/" in named) != has_built_in_kinds(plane)


def test_no_other_resource_has_the_short_names(api):
    ours = {name for each in custom_resources.definitions() for name in each["spec"]["names"]["shortNames"]}
    versions = ["/api/v1", *(f"/apis/{each['preferredVersion']['groupVersion']}" for each in api.send("GET", "/apis").content["groups"])]
    others = (each for url in versions if CUSTOM not in url for each in api.send("GET", url).content["resources"])

    assert [] == [each["name"] for each in others if ours & {each["name"], each["singularName"], *each.get("shortNames", ())}]


def test_fields_and_lists_are_those_of_the_built_in_kinds(plane, api):
    if not has_built_in_kinds(plane):
        pytest.skip("the API server does not serve the built-in kinds")
    ours = {
        each["spec"]["names"]["kind"]: each["spec"]["versions"][0]["schema"]["openAPIV3Schema"] for each in custom_resources.definitions()
    }
    for kind, version in (("Workload", "v1beta1"), ("PodGroup", "v1beta1"), ("CompositePodGroup", "v1alpha3")):
        schemas = api.send("GET", f"/openapi/v3/apis/{SCHEDULING}/{version}").content["components"]["schemas"]
        built_in = dict(described(schemas[f"io.k8s.api.scheduling.{version}.{kind}"], schemas, ()))
        custom = dict(described(ours[kind], {}, ()))

        assert built_in == custom


def described(part: dict[str, Any], schemas: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield each field of spec and status with its type, and how it is merged; templates to the third level of composites."""
    if path.count("compositePodGroupTemplates") > 3:
        return
    for each in part.get("allOf", [part]):
        part = schemas[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
    if path:
        yield path, (part.get("type"), part.get("format"), *(part.get(name) for name in MERGED))
    if part.get("type") == "array":
        yield from described(part["items"], schemas, (*path, "[]"))
    for name, below in part.get("properties", {}).items():
        if path or name in ("spec", "status"):
            yield from described(below, schemas, (*path, name))


def test_the_default_is_that_of_the_built_in_kinds(plane, api):
    if not has_built_in_kinds(plane):
        pytest.skip("the API server does not serve the built-in kinds")
    built_in = api.create({**group("a"), "apiVersion": f"{SCHEDULING}/v1beta1"}, dryRun="All")["spec"]
    custom = api.create(group("a"), dryRun="All")["spec"]

    # This one is set by the webhook, as the mirrored version does; priority by a plugin of the API server.
    assert kubernetes_releases.TODAY == plane.programs.minor()
    assert custom == {name: value for name, value in built_in.items() if name not in ("preemptionPolicy", "priority")}
