"""Pods join the groups that are built for their controllers, or wait for them; all others are left alone."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.pods import POD_GROUP_LABEL, group_in
from kubeapi.versions.api_versions import CUSTOM, SCHEDULING
from tests.webhooks.test_verdict import request
from tests.workloadbuilder.adapters.test_group_annotations import LWS
from tests.workloadbuilder.adapters.test_members import JOBSET
from validators import pipeline
from validators.model.objects import decode_kind
from validators.object_lookup import NOTHING
from validators.rules.base import Operation, Settings
from webhooks.admission import jsonpatch, verdict
from webhooks.admission_options import Joining, PlacedBy
from webhooks.lookup.object_cache import Cache, CachedLookup
from workloadbuilder.adapters.built_kinds import kind_of
from workloadbuilder.adapters.compiled import CompileOptions, compile_object
from workloadbuilder.adapters.group_objects import desired
from workloadbuilder.adapters.shared.known_objects import Known

GATE, WAITING = "muster.dev/placement", "muster.dev/pod-group"
JOB = {"batch.kubernetes.io/job-name": "train"}
FIT = Path(__file__).parents[1] / "cases/fit"
UID = "2f0c7e0d-7c2f-4a53-9b0d-6d0b8f6f1d99"


def owner(api_version, kind, name="train", **changes):
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": "u", "controller": True} | changes


def pod(*owners, labels=JOB, annotations=None, **spec):
    metadata = {"generateName": "train-", "namespace": "a", "ownerReferences": [*owners]}
    metadata |= {"labels": labels} if labels else {}
    metadata |= {"annotations": annotations} if annotations else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


OF_JOB = owner("batch/v1", "Job")


def group(name, members=JOB, namespace="a", **metadata):
    annotations = {"muster.dev/members": json.dumps([members])}
    metadata = {"name": name, "namespace": namespace, "annotations": annotations, **metadata}
    return decode_kind("PodGroup", {"metadata": metadata, "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}}})


def cache(api_group, *groups):
    created = Cache("PodGroup", 60, lambda: 0.0, group=api_group)
    created.replace(groups)
    return created


def custom(*groups):
    return CachedLookup([cache(SCHEDULING), cache(CUSTOM, *groups)])


EMPTY = custom()


DEFAULT, BY_OTHERS = Joining(PlacedBy.GATE, "muster"), Joining(PlacedBy.NONE, "muster")


def joined(new, lookup=EMPTY, joining=DEFAULT, **changes):
    answer = verdict.join(request(new, **({"namespace": "a"} | changes)), lookup, joining)
    assert answer.allowed
    return jsonpatch.apply(new, answer.patch)


def state(new):
    """Label, field, whether it waits, gates and scheduler name of a pod."""
    spec, labels = new["spec"], new["metadata"].get("labels") or {}
    gates = [each["name"] for each in spec.get("schedulingGates", [])]
    named = spec.get("schedulingGroup", {}).get("podGroupName", "")
    return labels.get(POD_GROUP_LABEL, ""), named, labels.get(WAITING, ""), gates, spec.get("schedulerName", "")


WAITS = ("", "", "unknown", [GATE, WAITING], "")
BUILD = {"muster.dev/groups": "build"}
OF_LWS = {"leaderworkerset.sigs.k8s.io/name": "train"}
BUILT = {
    "Job": pod(OF_JOB),
    "RayCluster": pod(owner("ray.io/v1", "RayCluster")),
    "MPIJob": pod(owner("kubeflow.org/v2beta1", "MPIJob")),
    "PyTorchJob": pod(owner("kubeflow.org/v1", "PyTorchJob")),
    "StatefulSet of a LeaderWorkerSet": pod(owner("apps/v1", "StatefulSet"), labels=OF_LWS),
    "ReplicaSet with the label in its template": pod(owner("apps/v1", "ReplicaSet"), labels=BUILD),
    "StatefulSet with the label in its template": pod(owner("apps/v1", "StatefulSet"), labels=BUILD),
    "second owner": pod(owner("v1", "ConfigMap", controller=False), OF_JOB),
    "scheduler by name": pod(OF_JOB, schedulerName="default-scheduler"),
}
LEFT_ALONE = {
    "no owner": pod(),
    "no labels": pod(labels=None),
    "no controller": pod(owner("batch/v1", "Job", controller=False)),
    "ReplicaSet": pod(owner("apps/v1", "ReplicaSet")),
    "StatefulSet": pod(owner("apps/v1", "StatefulSet")),
    "DaemonSet": pod(owner("apps/v1", "DaemonSet"), labels=BUILD),
    "Job of another group": pod(owner("batch.volcano.sh/v1alpha1", "Job")),
    "Node": pod(owner("v1", "Node"), annotations={"kubernetes.io/config.mirror": "x"}, nodeName="n1"),
    "excluded by its label": pod(OF_JOB, labels={**JOB, "muster.dev/groups": "none"}),
    "group by field": pod(OF_JOB, schedulingGroup={"podGroupName": "mine"}),
    "group by label": pod(OF_JOB, labels={**JOB, POD_GROUP_LABEL: "mine"}),
    "bound": pod(OF_JOB, nodeName="n1"),
    "another scheduler": pod(OF_JOB, schedulerName="volcano"),
    "group of coscheduling": pod(OF_JOB, labels={**JOB, "scheduling.x-k8s.io/pod-group": "mine"}),
    "group of Volcano": pod(OF_JOB, annotations={"scheduling.k8s.io/group-name": "mine"}),
    "group of KAI": pod(OF_JOB, annotations={"pod-group-name": "mine"}),
    "gang of YuniKorn": pod(OF_JOB, annotations={"yunikorn.apache.org/task-groups": "[]"}),
    "member of a gang of YuniKorn": pod(
        OF_JOB, annotations={"yunikorn.apache.org/task-group-name": "w"}, schedulerName="default-scheduler"
    ),
    "KAI": pod(OF_JOB, labels={**JOB, "kai.scheduler/queue": "research"}, schedulerName="kai-scheduler"),
    "YuniKorn": pod(OF_JOB, labels={**JOB, "applicationId": "train", "queue": "root.research"}, schedulerName="yunikorn"),
    "group of Kueue": pod(OF_JOB, labels={**JOB, "kueue.x-k8s.io/pod-group-name": "mine"}),
}


@pytest.mark.parametrize("new", [*BUILT.values()], ids=[*BUILT])
def test_a_pod_of_a_built_kind_waits_until_its_group_is_known(new):
    assert WAITS[:4] == state(joined(new))[:4]


@pytest.mark.parametrize("new", [*LEFT_ALONE.values()], ids=[*LEFT_ALONE])
def test_all_others_are_left_alone(new):
    assert () == verdict.join(request(new, namespace="a"), custom(group("g")), DEFAULT).patch


@pytest.mark.parametrize("changes", [{"operation": "UPDATE"}, {"subresource": "status"}, {"kind": "Job", "group": "batch"}], ids=str)
def test_only_the_creation_of_pods_is_answered_with_a_patch(changes):
    assert () == verdict.join(request(pod(OF_JOB), namespace="a", **changes), EMPTY, DEFAULT).patch


@pytest.mark.parametrize(
    ("by", "field", "gates", "scheduler"),
    [(PlacedBy.GATE, "", [GATE], ""), (PlacedBy.SCHEDULER, "g", [], "muster"), (PlacedBy.NONE, "g", [], "")],
)
def test_a_pod_gets_the_label_of_its_group_and_the_field_if_no_gate_holds_it(by, field, gates, scheduler):
    """kube-scheduler would count only the pods with the field; those that come before their group have none."""
    built_in = CachedLookup([cache(SCHEDULING, group("g")), cache(CUSTOM)])

    assert ("g", field, "", gates, scheduler) == state(joined(pod(OF_JOB), built_in, Joining(by, "muster")))
    assert ("g", "", "", gates, scheduler) == state(joined(pod(OF_JOB), custom(group("g")), Joining(by, "muster")))


@pytest.mark.parametrize(
    ("built_in", "custom_ones", "want"),
    [
        pytest.param([group("g")], [group("g")], ("g", "g"), id="both, the built-in one counts"),
        pytest.param([group("g")], [group("h")], ("g", "g"), id="another name"),
        pytest.param([group("g", deletionTimestamp="2026-01-01T00:00:00Z")], [group("g")], ("g", ""), id="the built-in one is deleted"),
    ],
)
def test_groups_of_built_in_kinds_come_first(built_in, custom_ones, want):
    lookup = CachedLookup([cache(SCHEDULING, *built_in), cache(CUSTOM, *custom_ones)])

    assert want == state(joined(pod(OF_JOB), lookup, BY_OTHERS))[:2]


@pytest.mark.parametrize(
    "groups",
    [
        pytest.param([group("g"), group("h")], id="two groups"),
        pytest.param([group("g", deletionTimestamp="2026-01-01T00:00:00Z")], id="deleted"),
        pytest.param([group("g", namespace="b")], id="another namespace"),
        pytest.param([group("g", {})], id="no labels of members"),
        pytest.param([group("g", {**JOB, "other": ""})], id="a label that the pod lacks"),
        pytest.param([group("g", {"batch.kubernetes.io/job-name": 7})], id="no texts"),
        pytest.param([group("g", annotations={"muster.dev/members": "["})], id="no JSON"),
    ],
)
def test_a_pod_waits_if_no_group_is_certainly_its_own(groups):
    assert WAITS == state(joined(pod(OF_JOB), custom(*groups)))


def test_a_pod_waits_if_nothing_is_watched_or_the_groups_are_unknown():
    now = [0.0]
    known = Cache("PodGroup", 60, lambda: now[0], group=CUSTOM)
    known.replace([group("g")])
    now[0] = 61

    assert WAITS == state(joined(pod(OF_JOB), NOTHING))
    assert WAITS == state(joined(pod(OF_JOB), CachedLookup([known])))


def test_the_cache_follows_its_groups():
    known = cache(CUSTOM)
    lookup = CachedLookup([known])
    for change, found in [
        (lambda: known.add_or_update(group("g")), "g"),
        (lambda: known.add_or_update(group("h")), ""),
        (lambda: known.remove(group("g")), "h"),
        (lambda: known.add_or_update(group("h", {"x": "1"})), ""),
        (lambda: known.add_or_update(group("h")), "h"),
        (lambda: known.add_or_update(group("h", deletionTimestamp="2026-01-01T00:00:00Z")), ""),
        (lambda: known.replace([group("i")]), "i"),
    ]:
        change()

        assert found == state(joined(pod(OF_JOB), lookup))[0]


def test_a_pod_that_waits_already_gets_its_group_and_keeps_other_gates():
    gates = [{"name": each} for each in ("example.com/quota", GATE, WAITING)]
    waiting = pod(OF_JOB, labels={**JOB, WAITING: "unknown"}, schedulingGates=gates)

    assert ("g", "", "", ["example.com/quota", GATE], "") == state(joined(waiting, custom(group("g"))))
    assert waiting == joined(waiting)


@pytest.mark.parametrize(
    ("by", "name", "known", "waiting"),
    [
        (PlacedBy.GATE, "", ([GATE], ""), ([GATE, WAITING], "")),
        (PlacedBy.GATE, "muster", ([], "muster"), ([WAITING], "muster")),
        (PlacedBy.SCHEDULER, "default-scheduler", ([], "muster"), ([WAITING], "muster")),
        (PlacedBy.NONE, "default-scheduler", ([], "default-scheduler"), ([WAITING], "default-scheduler")),
    ],
)
def test_what_lets_muster_place_the_pod_is_a_setting(by, name, known, waiting):
    new = pod(OF_JOB, **({"schedulerName": name} if name else {}))

    assert known == state(joined(new, custom(group("g")), Joining(by, "muster")))[3:]
    assert waiting == state(joined(new, joining=Joining(by, "muster")))[3:]


@given(st.sampled_from([*BUILT.values(), *LEFT_ALONE.values()]), st.booleans(), st.sampled_from([*PlacedBy]))
def test_a_second_call_changes_nothing_and_the_rules_accept_the_result(new, known, by):
    lookup = custom(group("g"), group("l", OF_LWS), group("b", BUILD)) if known else EMPTY
    once = joined(new, lookup, Joining(by, "muster"))

    assert once == joined(once, lookup, Joining(by, "muster"))
    if new in BUILT.values():
        assert () == pipeline.validate("Pod", once, None, Operation.CREATE, api_version="v1", settings=Settings(), lookup=lookup)


def controllers(labels):
    """The owner of a pod as its controller sets it, by the labels of the pod."""
    if "leaderworkerset.sigs.k8s.io/name" in labels:
        return owner("apps/v1", "StatefulSet")
    if "ray.io/cluster" in labels:
        return owner("ray.io/v1", "RayCluster", labels["ray.io/cluster"])
    if "training.kubeflow.org/job-name" in labels:
        kind = "MPIJob" if labels.get("training.kubeflow.org/operator-name", "").startswith("mpi") else "PyTorchJob"
        return owner("kubeflow.org/v1", kind, labels["training.kubeflow.org/job-name"])
    if "pod-template-hash" in labels:
        return owner("apps/v1", "ReplicaSet")
    return owner("apps/v1", "StatefulSet") if "statefulset.kubernetes.io/pod-name" in labels else OF_JOB


def examples():
    """Documents of the examples that have an object of a built kind, with that object."""
    texts = {each.stem: each.read_text(encoding="utf-8") for each in sorted(FIT.glob("*.yaml"))} | {"lws": LWS, "groups": JOBSET}
    for name, text in texts.items():
        documents = [each for each in yaml.safe_load_all(text) if each]
        for each in documents:
            if kind_of(each) is not None and not each["spec"].get("suspend"):
                each["metadata"].setdefault("uid", UID)
                yield pytest.param(each, documents, id=name)


@pytest.mark.parametrize(("manifest", "documents"), [*examples()])
@pytest.mark.parametrize("version", [f"{SCHEDULING}/v1beta1", f"{CUSTOM}/v1beta1"])
def test_each_planned_pod_joins_its_planned_group_among_those_of_all(manifest, documents, version):
    api_group, _, number = version.partition("/")
    known = Known(documents, documents)
    planned = desired(manifest, known, version)
    groups = [decode_kind("PodGroup", _in_namespace(each)) for each in planned.objects if each["kind"] == "PodGroup"]
    others = [group("another"), group("third", {"ray.io/cluster": "another"})]
    lookup = CachedLookup([cache(api_group, *groups, *others)])
    pods = compile_object(manifest, known, CompileOptions(groups=True, pods=True, grouped=True, api=api_group, version=number)).objects

    assert groups
    for each in (each for each in pods if each["kind"] == "Pod"):
        new = _as_created(each)
        found = joined(new, lookup, BY_OTHERS)

        assert group_in(each) == group_in(found), each["metadata"]
        assert (api_group == SCHEDULING and bool(group_in(each))) is ("schedulingGroup" in found["spec"])


def _in_namespace(manifest):
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": "a"}}


def _as_created(planned):
    """A planned pod as its controller creates it: it names no group, and has an owner; a Deployment's has the label in its template."""
    new = copy.deepcopy(planned)
    labels = new["metadata"].setdefault("labels", {})
    labels.pop(POD_GROUP_LABEL, None)
    new["spec"].pop("schedulingGroup", None)
    new["metadata"] |= {"namespace": "a", "ownerReferences": [controllers(labels)]}
    if new["metadata"]["ownerReferences"][0]["kind"] in {"ReplicaSet", "StatefulSet"}:
        labels |= BUILD
    if "pod-template-hash" in labels:
        # The real hash is another one.
        labels["pod-template-hash"] = "7d9c"
    return {"apiVersion": "v1", **new}
