"""Manifests with the mistakes that people make, and valid ones, with the answers of a real API server.

``python -m tests.cluster.manifest_verdicts`` records the answers anew in ``tests/cases/manifest-verdicts.json``.
"""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

from tests.cluster.api import Api, ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.options import Options
from tests.cluster.pod_changes import POD_CHANGES
from tests.cluster.resources import path

Json = dict[str, Any]
ANSWERS = Path(__file__).parent.parent / "cases" / "manifest-verdicts.json"
_DELETED = object()

_CONTAINER = {"name": "main", "image": "registry.example/main:1", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}}


def _template(policy: str = "") -> Json:
    spec: Json = {"containers": [copy.deepcopy(_CONTAINER)]}
    return {"metadata": {"labels": {"app": "x"}}, "spec": {**spec, **({"restartPolicy": policy} if policy else {})}}


def _manifest(kind: str, version: str, **spec: Any) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": "default"}, "spec": spec}


_SELECTOR = {"matchLabels": {"app": "x"}}
_JOB = _manifest("Job", "batch/v1", parallelism=2, completions=2, template=_template("Never"))
_POD = _manifest("Pod", "v1", containers=[_CONTAINER])
_CRON = _manifest("CronJob", "batch/v1", schedule="0 3 * * *", jobTemplate={"spec": {"template": _template("OnFailure")}})
_APPS = {
    kind: _manifest(kind, "apps/v1", selector=_SELECTOR, template=_template(), **({} if kind == "DaemonSet" else {"replicas": 2}))
    for kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")
}
_COST = {"controller.kubernetes.io/pod-deletion-cost": "high"}
_IN_JOB, _IN_POD = "spec.template.spec.", "spec."
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_CLAIM = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


def _with(base: Json, changes: dict[str, Any]) -> Json:
    """Return a copy of an object with other values at dotted paths; the last part can be new."""
    changed = copy.deepcopy(base)
    for dotted, value in changes.items():
        *above, last = dotted.split(".")
        parent: Any = changed
        for part in above:
            parent = parent[int(part)] if isinstance(parent, list) else parent.setdefault(part, {})
        if value is _DELETED:
            del parent[last]
        else:
            parent[int(last) if isinstance(parent, list) else last] = value
    return changed


def _job(**changes: Any) -> Json:
    return _with(_JOB, {f"spec.{key}": value for key, value in changes.items()})


def _pod(name: str, value: Any) -> Json:
    return _with(_POD, {f"spec.{name}": value})


def _container(**fields: Any) -> Json:
    return _pod("containers", [{**_CONTAINER, **fields}])


def _app(kind: str, changes: dict[str, Any]) -> Json:
    return _with(_APPS[kind], changes)


def _node_affinity(*requirements: Json) -> Json:
    return _pod("affinity", {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [*requirements]}]}}})


MANIFESTS: dict[str, Json] = {
    # Valid ones
    "a Job": _JOB,
    "a Pod": _POD,
    "a CronJob": _CRON,
    **{f"a {kind}": each for kind, each in _APPS.items()},
    "a Job without counts": _job(parallelism=_DELETED, completions=_DELETED, completionMode="Indexed"),
    "a StatefulSet with claims": _app(
        "StatefulSet",
        {
            "spec.volumeClaimTemplates": [_CLAIM],
            "spec.template.spec.containers": [{**_CONTAINER, "volumeMounts": [{"name": "data", "mountPath": "/d"}]}],
        },
    ),
    "a named port as the target of a probe": _container(
        ports=[{"name": "http", "containerPort": 80}], livenessProbe={"httpGet": {"port": "http"}}
    ),
    "a toleration of everything": _pod("tolerations", [{"operator": "Exists"}]),
    "an exported creation time": _with(_JOB, {"metadata.creationTimestamp": None}),
    # Jobs
    "a Job without restartPolicy": _with(_JOB, {_IN_JOB + "restartPolicy": _DELETED}),
    "a Job with restartPolicy Always": _with(_JOB, {_IN_JOB + "restartPolicy": "Always"}),
    "a misspelt restartPolicy": _with(_JOB, {_IN_JOB + "restartPolicy": "never"}),
    "an Indexed Job without completions": _job(completions=_DELETED, completionMode="Indexed"),
    "a misspelt completion mode": _job(completionMode="indexed"),
    "a negative parallelism": _job(parallelism=-1),
    "a parallelism as a string": _job(parallelism="4"),
    "a backoff limit by index without indexes": _job(backoffLimitPerIndex=1),
    "a success policy without indexes": _job(successPolicy={"rules": [{"succeededCount": 1}]}),
    "a selector of one's own in a Job": _job(selector=_SELECTOR),
    "a Job with a failure policy that restarts": _with(
        _JOB,
        {
            _IN_JOB + "restartPolicy": "OnFailure",
            "spec.podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]},
        },
    ),
    "an exit code 0 as a failure": _job(
        podFailurePolicy={"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [0]}}]}
    ),
    "a Job without a template": _job(template=_DELETED),
    "a Job without containers": _with(_JOB, {_IN_JOB + "containers": []}),
    "completions in the template": _with(_JOB, {_IN_JOB + "completions": 4}),
    "gpus in the container": _with(_JOB, {_IN_JOB + "containers.0.gpus": 8}),
    "a long name of an Indexed Job": _with(_JOB, {"metadata.name": "x" * 62, "spec.completionMode": "Indexed", "spec.completions": 100}),
    # CronJobs
    "a schedule of four fields": _with(_CRON, {"spec.schedule": "0 3 * *"}),
    "a schedule out of range": _with(_CRON, {"spec.schedule": "61 3 * * *"}),
    "a CronJob without a schedule": _with(_CRON, {"spec.schedule": _DELETED}),
    "a CronJob with a template of a pod": _with(_CRON, {"spec.jobTemplate": {"spec": _template("Never")["spec"]}}),
    "a CronJob with a long name": _with(_CRON, {"metadata.name": "x" * 53}),
    "an unknown time zone": _with(_CRON, {"spec.timeZone": "Europe/Berln"}),
    # Controllers of apps/v1
    **{
        f"a {kind} with restartPolicy Never": _app(kind, {"spec.template.spec.restartPolicy": "Never"})
        for kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")
    },
    **{
        f"a {kind} whose selector does not match": _app(kind, {"spec.selector": {"matchLabels": {"app": "y"}}})
        for kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")
    },
    "a Deployment without a selector": _app("Deployment", {"spec.selector": _DELETED}),
    "a Deployment with an empty selector": _app("Deployment", {"spec.selector": {}}),
    "labels directly in the selector": _app("Deployment", {"spec.selector": {"app": "x"}}),
    "a template without labels": _app("Deployment", {"spec.template.metadata": {}}),
    "negative replicas": _app("Deployment", {"spec.replicas": -1}),
    "replicas in the template": _app("Deployment", {"spec.template.replicas": 3}),
    "a deadline in a Deployment": _app("Deployment", {"spec.template.spec.activeDeadlineSeconds": 60}),
    "a rolling update that cannot roll": _app("Deployment", {"spec.strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}}),
    "Recreate with a rolling update": _app("Deployment", {"spec.strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}}),
    "a misspelt pod management": _app("StatefulSet", {"spec.podManagementPolicy": "parallel"}),
    "a claim without a size": _app("StatefulSet", {"spec.volumeClaimTemplates": [{**_CLAIM, "spec": {"accessModes": ["ReadWriteOnce"]}}]}),
    "replicas in a DaemonSet": _app("DaemonSet", {"spec.replicas": 3}),
    # Containers
    "a container without an image": _pod("containers", [{"name": "main"}]),
    "a container without a name": _pod("containers", [{"image": "i"}]),
    "two containers with one name": _pod("containers", [_CONTAINER, _CONTAINER]),
    "an init container with the name of another": _pod("initContainers", [_CONTAINER]),
    "an upper-case name": _container(name="Main"),
    "an underscore in a name": _container(name="my_container"),
    "a container as a mapping": _pod("containers", _CONTAINER),
    "a command as a string": _container(command="sleep 3600"),
    "a number as the value of a variable": _container(env=[{"name": "A", "value": 1}]),
    "a variable with two sources": _container(env=[{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
    "an unknown field of the pod": _container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.nam"}}}]),
    "environment as a mapping": _container(env={"A": "b"}),
    "a port out of range": _container(ports=[{"containerPort": 70000}]),
    "a port as a string": _container(ports=[{"containerPort": "80"}]),
    "a long name of a port": _container(ports=[{"containerPort": 80, "name": "a-very-long-port-name"}]),
    "a host port twice": _container(ports=[{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 80}]),
    "a probe without a handler": _container(livenessProbe={"periodSeconds": 3}),
    "a probe of an init container": _pod("initContainers", [{"name": "i", "image": "i", "readinessProbe": {"exec": {"command": ["a"]}}}]),
    "a misspelt pull policy": _container(imagePullPolicy="ifNotPresent"),
    # Resources
    "a request above its limit": _container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
    "a device in requests only": _container(resources={"requests": {"nvidia.com/gpu": 1}}),
    "half a device": _container(resources={"limits": {"nvidia.com/gpu": "500m"}}),
    "an invalid quantity": _container(resources={"requests": {"memory": "4 GB"}}),
    "a quantity with a wrong unit": _container(resources={"requests": {"memory": "4GB"}}),
    "an unknown resource": _container(resources={"limits": {"gpu": 1}}),
    "resources without limits or requests": _container(resources={"cpu": 1}),
    "a negative amount": _container(resources={"requests": {"cpu": "-1"}}),
    # Volumes
    "a mount of an unknown volume": _container(volumeMounts=[{"name": "data", "mountPath": "/data"}]),
    "a mount without a path": _with(
        _POD, {"spec.volumes": [{"name": "d", "emptyDir": {}}], "spec.containers": [{**_CONTAINER, "volumeMounts": [{"name": "d"}]}]}
    ),
    "a volume with two sources": _pod("volumes", [{"name": "d", "emptyDir": {}, "hostPath": {"path": "/x"}}]),
    "two volumes with one name": _pod("volumes", [{"name": "d", "emptyDir": {}}, {"name": "d", "emptyDir": {}}]),
    "a claim without a name": _pod("volumes", [{"name": "d", "persistentVolumeClaim": {}}]),
    "a mode of files that is not octal": _pod("volumes", [{"name": "d", "secret": {"secretName": "s", "defaultMode": 644}}]),
    "a misspelt source": _pod("volumes", [{"name": "d", "persistentVolumeClame": {"claimName": "c"}}]),
    # Placement
    "a node selector with a number": _pod("nodeSelector", {"gpu": 1}),
    "a node selector with an invalid value": _pod("nodeSelector", {"gpu": "a b"}),
    "In without values": _node_affinity({"key": "a", "operator": "In"}),
    "Exists with values": _node_affinity({"key": "a", "operator": "Exists", "values": ["b"]}),
    "a misspelt operator": _node_affinity({"key": "a", "operator": "in", "values": ["b"]}),
    "an affinity without terms": _pod("affinity", {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": []}}}),
    "a required affinity as a list": _pod("affinity", {"nodeAffinity": {_REQUIRED: [{"matchExpressions": []}]}}),
    "an affinity without a topology key": _pod("affinity", {"podAffinity": {_REQUIRED: [{"labelSelector": _SELECTOR}]}}),
    "a preferred affinity without a weight": _pod(
        "affinity", {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm": {"topologyKey": "zone"}}]}}
    ),
    "a misspelt affinity": _pod("affinity", {"nodeAffinity": {"requiredDuringScheduling": {"nodeSelectorTerms": []}}}),
    "a toleration without a key": _pod("tolerations", [{"value": "gpu", "effect": "NoSchedule"}]),
    "a toleration with a misspelt effect": _pod("tolerations", [{"key": "gpu", "operator": "Exists", "effect": "NoScheduling"}]),
    "a toleration of existence with a value": _pod("tolerations", [{"key": "gpu", "operator": "Exists", "value": "a"}]),
    "seconds of a toleration without NoExecute": _pod(
        "tolerations", [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 3}]
    ),
    "a spread without a skew": _pod("topologySpreadConstraints", [{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]),
    "a spread without a rule": _pod("topologySpreadConstraints", [{"topologyKey": "zone", "maxSkew": 1}]),
    # Names and labels
    "an upper-case name of a Job": _with(_JOB, {"metadata.name": "Train"}),
    "a name with an underscore": _with(_JOB, {"metadata.name": "my_job"}),
    "no name": _with(_JOB, {"metadata.name": _DELETED}),
    "an invalid label": _with(_JOB, {"metadata.labels": {"team": "a b"}}),
    "a label that is a number": _with(_JOB, {"metadata.labels": {"version": 1}}),
    "an invalid label of the pods": _app("Deployment", {"spec.template.metadata.labels": {"app": "x", "team": "a/b"}}),
    "a misspelt namespace": _with(_JOB, {"metadata.namespce": "default"}),
    "a priority class with an underscore": _pod("priorityClassName", "very_high"),
    "a deletion cost of the pods that is no number": _with(_JOB, {"spec.template.metadata.annotations": _COST}),
    # Found by random requests
    "an Indexed CronJob without completions": _with(_CRON, {"spec.jobTemplate.spec.completionMode": "Indexed"}),
    "a selector in a CronJob": _with(_CRON, {"spec.jobTemplate.spec.selector": _SELECTOR}),
    "a manual selector in a CronJob": _with(_CRON, {"spec.jobTemplate.spec.manualSelector": True}),
    "a group with an invalid name in a CronJob": _with(
        _CRON, {"spec.jobTemplate.spec.template.spec.schedulingGroup": {"podGroupName": "A_b"}}
    ),
    "an empty selector in a Job": _job(selector={}),
    "a manual selector that is absent": _job(manualSelector=True),
    "an empty completion mode": _job(completionMode=""),
    "a long name of a manager": _job(managedBy=f"a.b/{'c' * 60}"),
    "an unknown field in a policy": _job(scheduling={"schedulingPolicy": {"basic": {"zzz": 1}}}),
    "negative completions of an Indexed Job": _job(completions=-1, completionMode="Indexed"),
    "an overhead of an unknown resource": _pod("overhead", {"gpu": "1"}),
    "a deprecated service account with an invalid name": _pod("serviceAccount", "../x"),
    "a claim template with an invalid label": _pod(
        "volumes", [{"name": "d", "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"a": "b_"}}, "spec": _CLAIM["spec"]}}}]
    ),
    "a driver with a secret without a name": _pod("volumes", [{"name": "d", "csi": {"driver": "a.b", "nodePublishSecretRef": {}}}]),
    **{name: _with(_POD, changes) for name, changes in POD_CHANGES.items()},
}


def answer(api: Api, manifest: Json) -> list[str]:
    """Return why the API server refuses an object, without creating it: the fields, or the message; empty if it does not."""
    url = path(manifest["kind"], namespace="default", version=manifest["apiVersion"])
    try:
        api.send("POST", url, manifest, query={"dryRun": "All", "fieldValidation": "Strict"})
    except ApiError as error:
        return [field for field, _, _ in error.causes] or [str(error.status.get("message", ""))]
    return []


def recorded() -> dict[str, list[str]]:
    """Return the recorded answers by the names of the manifests."""
    answers: dict[str, list[str]] = json.loads(ANSWERS.read_text(encoding="utf-8"))
    return answers


def main() -> int:
    """Record the answers of a control plane."""
    with ControlPlane(Options()) as plane:
        answers = {name: answer(plane.api, manifest) for name, manifest in MANIFESTS.items()}
    lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in answers.items()]
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
