"""Migration to another API group and back: kinds, pods and pod templates."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import sampled
from tests.validators.migrate import written_by_people as written
from tests.validators.migrate.migrating import findings, migrate, objects_in, text_of, together

CUSTOM, BUILT_IN = "scheduling.muster.dev/v1beta1", "scheduling.k8s.io/v1beta1"
LABEL = "scheduling.muster.dev/pod-group"
Content = dict[str, Any]

_NAMES = st.sampled_from(["workers", "a", "x" * 63, "run-0.b"])
_HUBS = {"Workload": BUILT_IN, "PodGroup": BUILT_IN, "CompositePodGroup": "scheduling.k8s.io/v1alpha3"}


@st.composite
def _templates(draw: st.DrawFn) -> Content:
    """Draw a pod template, or the main part of a pod."""
    spec: Content = {"containers": [{"name": "main", "image": "train"}]}
    if draw(st.booleans()):
        spec = {"nodeSelector": {"zone": "z1"}, **spec, "restartPolicy": "Never"}
    template: Content = {"spec": spec}
    if draw(st.booleans()):
        template["metadata"] = draw(
            st.sampled_from([{"labels": {"app": "train"}}, {"annotations": {"a": "b"}}, {"labels": {"app": "a", "b": "c"}}])
        )
    group = draw(st.one_of(st.none(), _NAMES))
    if group is not None:
        spec["schedulingGroup"] = {"podGroupName": group}
    return template


@st.composite
def _objects(draw: st.DrawFn) -> Content:
    kind = draw(st.sampled_from(["Pod", "Job", "Deployment", "RayCluster", *_HUBS]))
    meta = {"name": draw(_NAMES)}
    if kind in _HUBS:
        policy = {"gang": {"minGroupCount" if kind == "CompositePodGroup" else "minCount": 2}}
        reference = {"workloadRef": {"workloadName": "w", "templateName": "t"}} if kind == "CompositePodGroup" else {}
        spec = (
            {"podGroupTemplates": [{"name": "t", "schedulingPolicy": policy}]}
            if kind == "Workload"
            else {**reference, "schedulingPolicy": policy}
        )
        return {"apiVersion": _HUBS[kind], "kind": kind, "metadata": meta, "spec": spec}
    template = draw(_templates())
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {**meta, **template.get("metadata", {})}, "spec": template["spec"]}
    if kind == "RayCluster":
        spec = {"headGroupSpec": {"template": template}, "workerGroupSpecs": [{"groupName": "a", "template": draw(_templates())}]}
        return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": meta, "spec": spec}
    return {"apiVersion": "batch/v1" if kind == "Job" else "apps/v1", "kind": kind, "metadata": meta, "spec": {"template": template}}


def _moved(value: Any, to: str) -> Any:
    """Return what is expected of an object or a part of it: the naive conversion."""
    if isinstance(value, list):
        return [_moved(each, to) for each in value]
    if not isinstance(value, dict):
        return value
    result = {name: _moved(each, to) for name, each in value.items()}
    if result.get("kind") in _HUBS and "apiVersion" in result:
        result["apiVersion"] = CUSTOM if to == CUSTOM else _HUBS[result["kind"]]
    group = result["spec"].pop("schedulingGroup", None) if to == CUSTOM and isinstance(result.get("spec"), dict) else None
    if group is not None:
        metadata = result.setdefault("metadata", {})
        metadata["labels"] = {**metadata.get("labels", {}), LABEL: group["podGroupName"]}
    return result


@settings(max_examples=sampled(80), deadline=None)
@given(written.files(st.lists(_objects(), min_size=1, max_size=3)))
def test_the_way_to_custom_resources_and_back_loses_nothing(file: tuple[str, str]) -> None:
    name, text = file
    before = objects_in(text, name)
    there = migrate(text, name=name, to=CUSTOM)
    back = migrate(text_of(there), name=name, to=BUILT_IN)

    for each in (there, back):
        assert (each.refused, each.losses, each.notes) == ((), (), ())
    assert objects_in(text_of(there), name) == _moved(copy.deepcopy(before), CUSTOM)
    assert objects_in(text_of(back), name) == before
    again = migrate(text_of(there), name=name, to=CUSTOM)
    assert again.files[0].after == text_of(there).encode()


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: main, image: train}], schedulingGroup: {podGroupName: workers}}
"""
LABELLED = POD.replace(", schedulingGroup: {podGroupName: workers}", "").replace("{name: p}", f"{{name: p, labels: {{{LABEL}: workers}}}}")
GROUP = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: workers}\nspec: {schedulingPolicy: {basic: {}}}\n"
LONG = "w" * 64


@pytest.mark.parametrize(("before", "after"), [(POD, LABELLED), (LABELLED, POD)])
def test_a_pod_that_is_created_anew_changes_how_it_names_its_group(before: str, after: str) -> None:
    migration = migrate(before, to=CUSTOM if before is POD else BUILT_IN)

    assert objects_in(text_of(migration)) == objects_in(after)
    assert migration.exit_status == 0


@pytest.mark.parametrize(("pod", "to"), [(POD, CUSTOM), (LABELLED, BUILT_IN)])
def test_a_pod_of_a_cluster_keeps_how_it_names_its_group(pod: str, to: str) -> None:
    live = pod.replace("{name: p", "{name: p, uid: u")
    migration = migrate(live, to=to)

    assert text_of(migration) == live
    (note,) = migration.notes
    assert "keeps the way in which it names its group" in note.message


def test_a_name_that_no_label_can_have_is_a_loss() -> None:
    """The PodGroup and the pods that name it stay as they are, and work with each other."""
    files = [each.replace("workers", LONG) for each in (GROUP, POD)]
    migration = migrate(*files, GROUP, to=CUSTOM)

    assert migration.exit_status == 1
    assert [each.spot.field for each in migration.losses] == ["metadata.name", "spec.schedulingGroup.podGroupName"]
    assert text_of(migration) == together(*files, GROUP.replace("k8s.io", "muster.dev"))


def test_a_pod_with_two_groups_keeps_the_one_that_counts() -> None:
    both = POD.replace("{name: p}", f"{{name: p, labels: {{{LABEL}: drivers}}}}")
    there, back = migrate(both, to=CUSTOM), migrate(both, to=BUILT_IN)

    assert [1, 1] == [there.exit_status, back.exit_status]
    assert objects_in(text_of(there)) == objects_in(LABELLED)
    assert objects_in(text_of(back)) == objects_in(POD)


def test_a_label_that_a_selector_requires_is_kept() -> None:
    selector = {"matchLabels": {LABEL: "workers"}}
    (pod,) = objects_in(LABELLED)
    pod["metadata"] = {"labels": pod["metadata"]["labels"]}
    content = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"selector": selector, "template": pod}}

    migration = migrate(json.dumps(content), name="a.json", to=BUILT_IN)
    (after,) = objects_in(text_of(migration), "a.json")

    assert after["spec"]["template"]["metadata"]["labels"] == {LABEL: "workers"}
    assert after["spec"]["template"]["spec"]["schedulingGroup"] == {"podGroupName": "workers"}
    assert len(migration.notes) == 1


@pytest.mark.parametrize(
    "metadata", ["", "  metadata: null\n", "  metadata: {}\n", "  metadata: {labels: {}}\n", "  metadata: {labels: null}\n"]
)
def test_a_template_without_labels_gets_one(metadata: str) -> None:
    text = f"kind: Job\napiVersion: batch/v1\nmetadata: {{name: j}}\nspec:\n template:\n{metadata}  spec:\n   schedulingGroup: {{podGroupName: g}}\n   containers: []\n"
    migration = migrate(text, to=CUSTOM)

    assert not migration.refused
    (after,) = objects_in(text_of(migration))
    assert after["spec"]["template"] == {"metadata": {"labels": {LABEL: "g"}}, "spec": {"containers": []}}


def test_a_retired_workload_and_its_pods_become_custom_resources() -> None:
    workload = f"""\
apiVersion: scheduling.k8s.io/v1alpha1
kind: Workload
metadata: {{name: {"train" * 12}}}
spec: {{podGroups: [{{name: workers, policy: {{gang: {{minCount: 2}}}}}}]}}
"""
    pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{workloadRef: {{name: {'train' * 12}, podGroup: workers}}, containers: [{{name: m, image: i}}]}}\n"
    migration = migrate(workload, pod, to=CUSTOM)
    objects = objects_in(text_of(migration))

    assert (migration.losses, migration.refused) == ((), ())
    assert [each["apiVersion"] for each in objects] == [CUSTOM, CUSTOM, "v1"]
    assert objects[2]["spec"] == {"containers": [{"name": "m", "image": "i"}]}
    assert objects[2]["metadata"]["labels"][LABEL] == objects[1]["metadata"]["name"]
    assert len(objects[1]["metadata"]["name"]) <= 63
    assert not [each for each in findings(text_of(migration)) if each.severity.value == "error"]


def test_an_owner_gets_the_other_api_group() -> None:
    owned = GROUP.replace(
        "{name: workers}", f"{{name: workers, ownerReferences: [{{apiVersion: {BUILT_IN}, kind: Workload, name: w, uid: u}}]}}"
    )
    migration = migrate(owned, to=CUSTOM)
    (after,) = objects_in(text_of(migration))

    assert after["metadata"]["ownerReferences"][0]["apiVersion"] == CUSTOM
    assert [each.spot.field for each in migration.losses] == ["metadata.ownerReferences[0].uid"]


def test_a_list_of_one_kind_is_moved() -> None:
    (item,) = objects_in(GROUP)

    text = json.dumps({"apiVersion": BUILT_IN, "kind": "PodGroupList", "items": [{key: item[key] for key in ("metadata", "spec")}]})
    migration = migrate(text, name="a.json", to=CUSTOM)

    assert not migration.refused
    assert json.loads(text_of(migration))["apiVersion"] == CUSTOM


@pytest.mark.parametrize("to", ["v1beta1", "v1alpha3"])
def test_a_version_moves_nothing(to: str) -> None:
    custom = GROUP.replace("k8s.io", "muster.dev")

    assert text_of(migrate(custom, LABELLED, POD, to=to)) == together(custom, LABELLED, POD)
