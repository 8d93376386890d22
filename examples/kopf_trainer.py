"""A controller with kopf whose pods are scheduled as groups: a TrainingRun is a driver and its workers.

``spec.scheduling`` takes Kubernetes' building blocks for a group of groups, ``spec.workers.scheduling`` those for a group of
pods.  ``workloadbuilder`` makes a Workload, a CompositePodGroup and two PodGroups of them, says what is wrong at the
user's own fields, and what a change needs; the rest is here.  All that is made belongs to the run and goes with it.

Run it: ``kubectl apply -f examples/kopf_trainer_crd.yaml``, then
``kopf run --standalone --all-namespaces examples/kopf_trainer.py``
"""

import contextlib
import dataclasses
import functools
import json
import threading
from typing import Any

import kopf
from kubernetes import client, dynamic
from kubernetes.dynamic.exceptions import ConflictError, DynamicApiError, NotFoundError

import workloadbuilder as wb
from validators import field
from validators.field import FieldError, FieldPath

Object = dict[str, Any]

GROUP, KIND, RUNS = "example.muster.dev", "TrainingRun", ("example.muster.dev", "v1", "trainingruns")
RUN = f"{GROUP}/run"
"""The label of all that is made for a run: its uid."""
VERSIONS = {
    KIND: f"{GROUP}/v1",
    "Workload": "scheduling.k8s.io/v1beta1",
    "PodGroup": "scheduling.k8s.io/v1beta1",
    "CompositePodGroup": "scheduling.k8s.io/v1alpha3",
    "Pod": "v1",
}
DESCRIBED = ("Pod", "PodGroup", "CompositePodGroup")
"""What a Workload describes, in the order in which it goes."""
SCHEDULING, WORKERS = FieldPath("spec", "scheduling"), FieldPath("spec", "workers")
GANG = wb.SchedulingPolicy(wb.PolicyKind.GANG)
REPORTING = threading.Lock()


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """What kopf remembers goes into annotations of our own."""
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=GROUP)


@kopf.on.resume(*RUNS)
@kopf.on.create(*RUNS)
@kopf.on.update(*RUNS)
def reconcile(body: kopf.Body, **_: Any) -> None:
    """Makes what the run describes, whatever is there already; a run that is not sound keeps what it has."""
    told = functools.partial(tell, body["metadata"], "Accepted", observedGeneration=body["metadata"]["generation"])
    builder, errors = read(body)
    if errors:
        # A line for each error, with the path in the TrainingRun.
        message = "\n".join(f"{error.path}: {error}" for error in errors)
        told(status="False", reason="Invalid", message=message)
        kopf.warn(body, reason="Invalid", message=message)
        return
    for warning in builder.warnings():
        kopf.warn(body, reason="Doubtful", message=f"{warning.path}: {warning}")
    try:
        told(status="True", reason="Built", message=build(body, builder))
    except kopf.TemporaryError as error:
        told(status="Unknown", reason="Waiting", message=str(error))
        raise
    except DynamicApiError as error:
        # A quota, for example, or resources that are no quantities.
        message = json.loads(error.body or "{}").get("message", error.reason)
        told(status="False", reason="Refused", message=message)
        raise kopf.TemporaryError(message, delay=60) from None


def build(run: kopf.Body, builder: wb.Builder) -> str:
    """Makes what is not there, and takes away the pods that are too many; answers with what there is now."""
    workload, groups = builder.build_workload(), builder.groups()
    follow(run, workload)
    wanted, uid, namespace = pods(run, groups), run["metadata"]["uid"], run["metadata"]["namespace"]
    there = {kind: made(kind, uid, namespace) for kind in ("Workload", *DESCRIBED)}
    for surplus in sorted(set(there["Pod"]) - {pod["metadata"]["name"] for pod in wanted}):
        served("Pod").delete(name=surplus, namespace=namespace)
    for each in (workload, *groups, *wanted):
        create(run, each, there)
    return f"Workload {workload['metadata']['name']}: {len(groups)} groups, {len(wanted)} pods"


@kopf.on.event("scheduling.k8s.io", "v1beta1", "podgroups", labels={RUN: kopf.PRESENT})
def report(body: kopf.Body, labels: kopf.Labels, namespace: str | None, **_: Any) -> None:
    """Puts into the run's status what the scheduler says of its PodGroups; kube-scheduler 1.37 says nothing of composite ones."""
    owner = next(each for each in body["metadata"]["ownerReferences"] if each["uid"] == labels[RUN])
    told = functools.partial(tell, {**owner, "namespace": namespace}, "Scheduled")
    # One after the other, so that what was seen last is told last.
    with REPORTING:
        groups = made("PodGroup", labels[RUN], namespace).values()
        states = {group["spec"]["workloadRef"]["templateName"]: state(group) for group in groups}
        waiting = sorted(template for template, found in states.items() if found["status"] != "True")
        if waiting:
            found = states[waiting[0]]
            told(status="False", reason=found["reason"], message=f"{waiting[0]}: {found['message']}")
        elif states:
            told(status="True", reason="Scheduled", message="")


def state(group: Object) -> Object:
    """What the scheduler says of a PodGroup."""
    unknown = {"status": "Unknown", "reason": "Pending", "message": "the scheduler has not tried yet"}
    conditions = group.get("status", {}).get("conditions", ())
    return next((each for each in conditions if each["type"] == "PodGroupInitiallyScheduled"), unknown)


def read(run: kopf.Body) -> tuple[wb.Builder, list[FieldError]]:
    """The tree of a run, and all that is wrong with it.  By default a run starts as a whole or not at all."""
    count = run["spec"]["workers"]["replicas"]
    members = {"run": 2, "driver": 1, "workers": count}

    def complete(item: wb.WorkloadItem, config: wb.SchedulingConfig) -> wb.SchedulingConfig:
        """A gang that was given no size is one of all its members."""
        size = dataclasses.replace(GANG, minimum=members[item.name])
        return dataclasses.replace(config, policy=size) if config.policy == GANG else config

    whole = wb.read_intent(run["spec"].get("scheduling"), path=SCHEDULING, composite=True)
    part = wb.read_intent(run["spec"]["workers"].get("scheduling"), path=WORKERS / "scheduling", composite=False)
    # What is disrupted as a whole has only parts that are.
    default = wb.SchedulingConfig(GANG, disruption_mode=whole.intent.config.disruption_mode)
    driver = wb.WorkloadItem("driver", FieldPath("spec", "driver"), default, callbacks=(complete,))
    workers = wb.WorkloadItem("workers", WORKERS, default, part.intent, callbacks=(complete,))
    tree = wb.WorkloadItem("run", SCHEDULING, default, whole.intent, callbacks=(complete,), children=(driver, workers))
    options = wb.BuildOptions(
        name="",  # the run's, and a hash of its uid
        namespace=run["metadata"]["namespace"],
        owner=wb.Owner(VERSIONS[KIND], KIND, run["metadata"]["name"], uid=run["metadata"]["uid"]),
        allowed_policies=frozenset(wb.PolicyKind),
        allowed_disruption_modes=frozenset(wb.DisruptionMode),
    )
    builder = wb.Builder(tree, options)
    errors = [*whole.errors, *part.errors, *builder.validate()]
    # What only this controller knows it says in the same words.
    policy = part.intent.config.policy
    if policy is not None and policy.minimum is not None and policy.minimum > count:
        path = WORKERS.join(("scheduling", "schedulingPolicy", "gang", "minCount"))
        errors.append(field.invalid(path, policy.minimum, f"must not be greater than spec.workers.replicas ({count})"))
    return builder, errors


def pods(run: kopf.Body, groups: tuple[Object, ...]) -> list[Object]:
    """The run's pods, each in the group of its role."""
    group_of = {group["spec"]["workloadRef"]["templateName"]: group["metadata"]["name"] for group in groups}
    spec, name, wanted = run["spec"], run["metadata"]["name"], []
    for role, count in (("driver", 1), ("workers", spec["workers"]["replicas"])):
        resources = spec.get(role, {}).get("resources", {})
        container = {"name": role, "image": spec["image"], "resources": {"requests": resources, "limits": resources}}
        content = {"schedulingGroup": {"podGroupName": group_of[role]}, "restartPolicy": "OnFailure", "containers": [container]}
        names = [f"{name}-{role}-{number}" for number in range(count)]
        wanted += [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": each}, "spec": content} for each in names]
    return wanted


def follow(run: kopf.Body, wanted: Object) -> None:
    """Changes what is there into what is *wanted*: the size of a gang in place; all else is immutable, and made anew.

    The Workload, which tells what the groups were made of, comes last: whatever happens before, the next try goes on.

    Raises:
        kopf.TemporaryError: what must be made anew is not gone yet.
    """
    uid, namespace = run["metadata"]["uid"], run["metadata"]["namespace"]
    for name, there in made("Workload", uid, namespace).items():
        minor = int(cluster().version["kubernetes"]["minor"].rstrip("+"))
        changes = wb.changes(there, wanted, kubernetes=minor)
        if all(change.action is wb.Action.PATCH for change in changes):
            for change in reversed(changes):
                patch(change, uid, namespace)
            continue
        for kind in DESCRIBED:
            served(kind).delete(namespace=namespace, label_selector=f"{RUN}={uid}")
        if left := [each for kind in DESCRIBED for each in made(kind, uid, namespace)]:
            raise kopf.TemporaryError(f"{changes[0].reason}; to be made anew, {', '.join(left)} must go first", delay=1)
        served("Workload").delete(name=name, namespace=namespace)


def patch(change: wb.Change, uid: str, namespace: str | None) -> None:
    """Patches the Workload, or the groups that are made of one of its templates."""
    for name, there in made(change.kind, uid, namespace).items():
        if change.kind == "Workload" or there["spec"]["workloadRef"]["templateName"] == change.template:
            served(change.kind).patch(body=change.patch, name=name, namespace=namespace, content_type="application/merge-patch+json")


def create(run: kopf.Body, wanted: Object, there: dict[str, dict[str, Object]]) -> None:
    """Creates an object of the run, unless it is among those that are there and stay.

    Raises:
        kopf.TemporaryError: one of its name is leaving, or is not the run's.
    """
    kind, name = wanted["kind"], wanted["metadata"]["name"]
    if name in there[kind] and "deletionTimestamp" not in there[kind][name]["metadata"]:
        return
    kopf.adopt(wanted, owner=run)
    kopf.label(wanted, {RUN: run["metadata"]["uid"]})
    try:
        served(kind).create(body=wanted, namespace=run["metadata"]["namespace"])
    except ConflictError:
        raise kopf.TemporaryError(f"another {kind} {name} must go first", delay=2) from None


def tell(run: Object, condition: str, **told: Any) -> None:
    """Sets one condition of the run of this name and uid, and not of a later one of the name; does nothing if it is gone.

    Each condition has a field manager of its own: none is lost where two are told at once.
    """
    metadata = {key: run[key] for key in ("name", "namespace", "uid")}
    body = {"apiVersion": VERSIONS[KIND], "kind": KIND, "metadata": metadata, "status": {"conditions": [{"type": condition, **told}]}}
    with contextlib.suppress(NotFoundError, ConflictError):
        served(KIND).status.server_side_apply(
            body=body, namespace=run["namespace"], field_manager=f"trainer-{condition.lower()}", force_conflicts=True
        )


def made(kind: str, uid: str, namespace: str | None) -> dict[str, Object]:
    """The objects that were made for a run, by name."""
    found = served(kind).get(namespace=namespace, label_selector=f"{RUN}={uid}")
    return {each["metadata"]["name"]: each for each in found.to_dict()["items"]}


def served(kind: str) -> Any:
    """Requests for objects of a kind."""
    return cluster().resources.get(api_version=VERSIONS[kind], kind=kind)


@functools.cache
def cluster() -> Any:
    """The API server, with the configuration that kopf has read when it logged in."""
    return dynamic.DynamicClient(client.ApiClient())  # type: ignore[no-untyped-call]
