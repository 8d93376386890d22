"""Controller written with kopf: the pods of a TrainingRun, a driver and its workers, are scheduled as groups.

``spec.scheduling`` has Kubernetes' building blocks for a group of groups, ``spec.workers.scheduling`` those for a group of
pods.  From them, ``workloadbuilder`` creates a Workload, a CompositePodGroup and two PodGroups.  It reports errors at the
user's own fields, and returns the updates that a changed TrainingRun needs.  This file does the rest.  The TrainingRun owns
all created objects, so they are deleted with it.

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
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError

Object = dict[str, Any]

GROUP, KIND, RUNS = "example.muster.dev", "TrainingRun", ("example.muster.dev", "v1", "trainingruns")
RUN = f"{GROUP}/run"
"""Label of all objects that are created for a run; its value is the uid of the run."""
VERSIONS = {
    KIND: f"{GROUP}/v1",
    "Workload": "scheduling.k8s.io/v1beta1",
    "PodGroup": "scheduling.k8s.io/v1beta1",
    "CompositePodGroup": "scheduling.k8s.io/v1alpha3",
    "Pod": "v1",
}
DESCRIBED = ("Pod", "PodGroup", "CompositePodGroup")
"""Kinds of the objects that a Workload describes, in the order in which they are deleted."""
SCHEDULING, WORKERS = FieldPath("spec", "scheduling"), FieldPath("spec", "workers")
GANG = wb.SchedulingPolicy(wb.PolicyKind.GANG)
REPORTING = threading.Lock()


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Store the state of kopf in annotations with the prefix of this example."""
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=GROUP)


@kopf.on.resume(*RUNS)
@kopf.on.create(*RUNS)
@kopf.on.update(*RUNS)
def reconcile(body: kopf.Body, **_: Any) -> None:
    """Create, update and delete objects until they match the run; keep the objects of an invalid run unchanged."""
    set_accepted = functools.partial(set_condition, body["metadata"], "Accepted", observedGeneration=body["metadata"]["generation"])
    builder, errors = read(body)
    if errors:
        # One line for each error, with the path in the TrainingRun.
        message = "\n".join(f"{error.path}: {error}" for error in errors)
        set_accepted(status="False", reason="Invalid", message=message)
        kopf.warn(body, reason="Invalid", message=message)
        return
    for warning in builder.warnings():
        kopf.warn(body, reason="Doubtful", message=f"{warning.path}: {warning}")
    try:
        set_accepted(status="True", reason="Built", message=build(body, builder))
    except kopf.TemporaryError as error:
        set_accepted(status="Unknown", reason="Waiting", message=str(error))
        raise
    except DynamicApiError as error:
        # For example, a quota is exceeded, or a resource is not a quantity.
        message = json.loads(error.body or "{}").get("message", error.reason)
        set_accepted(status="False", reason="Refused", message=message)
        raise kopf.TemporaryError(message, delay=60) from None


def build(run: kopf.Body, builder: wb.Builder) -> str:
    """Create missing objects and delete surplus pods; return a message with the number of groups and pods."""
    workload, groups = builder.build_workload(), builder.groups()
    update_workload(run, workload)
    wanted, uid, namespace = pods(run, groups), run["metadata"]["uid"], run["metadata"]["namespace"]
    existing = {kind: owned_objects(kind, uid, namespace) for kind in ("Workload", *DESCRIBED)}
    for surplus in sorted(set(existing["Pod"]) - {pod["metadata"]["name"] for pod in wanted}):
        resource_client("Pod").delete(name=surplus, namespace=namespace)
    for each in (workload, *groups, *wanted):
        create(run, each, existing)
    return f"Workload {workload['metadata']['name']}: {len(groups)} groups, {len(wanted)} pods"


@kopf.on.event("scheduling.k8s.io", "v1beta1", "podgroups", labels={RUN: kopf.PRESENT})
def report(body: kopf.Body, labels: kopf.Labels, namespace: str | None, **_: Any) -> None:
    """Set the run's condition Scheduled from those of its PodGroups; kube-scheduler 1.37 sets none on CompositePodGroups."""
    owner = next(each for each in body["metadata"]["ownerReferences"] if each["uid"] == labels[RUN])
    set_scheduled = functools.partial(set_condition, {**owner, "namespace": namespace}, "Scheduled")
    # One event at a time, so that the newest state is written last.
    with REPORTING:
        groups = owned_objects("PodGroup", labels[RUN], namespace).values()
        states = {group["spec"]["workloadRef"]["templateName"]: scheduled_condition(group) for group in groups}
        waiting = sorted(template for template, condition in states.items() if condition["status"] != "True")
        if waiting:
            condition = states[waiting[0]]
            set_scheduled(status="False", reason=condition["reason"], message=f"{waiting[0]}: {condition['message']}")
        elif states:
            set_scheduled(status="True", reason="Scheduled", message="")


def scheduled_condition(group: Object) -> Object:
    """Return the condition that the scheduler sets on a PodGroup; status Unknown if it has set none yet."""
    unknown = {"status": "Unknown", "reason": "Pending", "message": "the scheduler has not tried yet"}
    conditions = group.get("status", {}).get("conditions", ())
    return next((each for each in conditions if each["type"] == "PodGroupInitiallyScheduled"), unknown)


def read(run: kopf.Body) -> tuple[wb.Builder, list[FieldError]]:
    """Return the builder for the tree of a run, and its errors.  By default, all pods of a run are scheduled together, or none."""
    count = run["spec"]["workers"]["replicas"]
    members = {"run": 2, "driver": 1, "workers": count}

    def complete(item: wb.WorkloadItem, config: wb.SchedulingConfig) -> wb.SchedulingConfig:
        """Set the minimum of a gang to all of its members if the user has set none."""
        size = dataclasses.replace(GANG, minimum=members[item.name])
        return dataclasses.replace(config, policy=size) if config.policy == GANG else config

    whole = wb.read_intent(run["spec"].get("scheduling"), path=SCHEDULING, composite=True)
    part = wb.read_intent(run["spec"]["workers"].get("scheduling"), path=WORKERS / "scheduling", composite=False)
    # Below a group with disruption mode All, each group must have mode All too.
    default = wb.SchedulingConfig(GANG, disruption_mode=whole.intent.config.disruption_mode)
    driver = wb.WorkloadItem("driver", FieldPath("spec", "driver"), default, callbacks=(complete,))
    workers = wb.WorkloadItem("workers", WORKERS, default, part.intent, callbacks=(complete,))
    tree = wb.WorkloadItem("run", SCHEDULING, default, whole.intent, callbacks=(complete,), children=(driver, workers))
    options = wb.BuildOptions(
        name="",  # empty: the name of the run and a hash of its uid
        namespace=run["metadata"]["namespace"],
        owner=wb.Owner(VERSIONS[KIND], KIND, run["metadata"]["name"], uid=run["metadata"]["uid"]),
        allowed_policies=frozenset(wb.PolicyKind),
        allowed_disruption_modes=frozenset(wb.DisruptionMode),
    )
    builder = wb.Builder(tree, options)
    errors = [*whole.errors, *part.errors, *builder.validate()]
    # Only this controller knows the number of workers; its error has the same form as those of the library.
    policy = part.intent.config.policy
    if policy is not None and policy.minimum is not None and policy.minimum > count:
        path = WORKERS.join(("scheduling", "schedulingPolicy", "gang", "minCount"))
        errors.append(field.invalid(path, policy.minimum, f"must not be greater than spec.workers.replicas ({count})"))
    return builder, errors


def pods(run: kopf.Body, groups: tuple[Object, ...]) -> list[Object]:
    """Return the pods of the run, each in the group of its role."""
    group_of = {group["spec"]["workloadRef"]["templateName"]: group["metadata"]["name"] for group in groups}
    spec, name, wanted = run["spec"], run["metadata"]["name"], []
    for role, count in (("driver", 1), ("workers", spec["workers"]["replicas"])):
        resources = spec.get(role, {}).get("resources", {})
        container = {"name": role, "image": spec["image"], "resources": {"requests": resources, "limits": resources}}
        content = {"schedulingGroup": {"podGroupName": group_of[role]}, "restartPolicy": "OnFailure", "containers": [container]}
        names = [f"{name}-{role}-{number}" for number in range(count)]
        wanted += [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": each}, "spec": content} for each in names]
    return wanted


def update_workload(run: kopf.Body, wanted: Object) -> None:
    """Change the existing Workload and its groups to match the *wanted* Workload.

    The minimum of a gang is patched.  All other fields are immutable, so after another change the objects are deleted and created
    again.  The Workload is patched or deleted last: until then, a retry compares with it and finds the same changes.

    Raises:
        kopf.TemporaryError: objects that must be created again still exist.
    """
    uid, namespace = run["metadata"]["uid"], run["metadata"]["namespace"]
    for name, existing in owned_objects("Workload", uid, namespace).items():
        minor = int(cluster().version["kubernetes"]["minor"].rstrip("+"))
        changes = wb.changes(existing, wanted, kubernetes=minor)
        if all(change.action is wb.Action.PATCH for change in changes):
            for change in reversed(changes):
                patch(change, uid, namespace)
            continue
        for kind in DESCRIBED:
            resource_client(kind).delete(namespace=namespace, label_selector=f"{RUN}={uid}")
        if left := [each for kind in DESCRIBED for each in owned_objects(kind, uid, namespace)]:
            raise kopf.TemporaryError(f"{changes[0].reason}; to be created again, {', '.join(left)} must be deleted first", delay=1)
        resource_client("Workload").delete(name=name, namespace=namespace)


def patch(change: wb.Change, uid: str, namespace: str | None) -> None:
    """Patch the Workload, or the groups of one of its templates."""
    for name, existing in owned_objects(change.kind, uid, namespace).items():
        if change.kind == "Workload" or existing["spec"]["workloadRef"]["templateName"] == change.template:
            resource_client(change.kind).patch(
                body=change.patch, name=name, namespace=namespace, content_type="application/merge-patch+json"
            )


def create(run: kopf.Body, wanted: Object, existing: dict[str, dict[str, Object]]) -> None:
    """Create an object of the run, unless it is in *existing* and not being deleted.

    Raises:
        kopf.TemporaryError: an object of this name is being deleted, or does not belong to the run.
    """
    kind, name = wanted["kind"], wanted["metadata"]["name"]
    if name in existing[kind] and "deletionTimestamp" not in existing[kind][name]["metadata"]:
        return
    kopf.adopt(wanted, owner=run)
    kopf.label(wanted, {RUN: run["metadata"]["uid"]})
    try:
        resource_client(kind).create(body=wanted, namespace=run["metadata"]["namespace"])
    except ConflictError:
        raise kopf.TemporaryError(f"another {kind} {name} must be deleted first", delay=2) from None


def set_condition(run: Object, condition: str, **fields: Any) -> None:
    """Set one condition of a run; do nothing if the run is deleted, or another run has its name.

    Each condition has its own field manager, so two simultaneous writes do not overwrite each other.
    """
    metadata = {key: run[key] for key in ("name", "namespace", "uid")}
    body = {"apiVersion": VERSIONS[KIND], "kind": KIND, "metadata": metadata, "status": {"conditions": [{"type": condition, **fields}]}}
    with contextlib.suppress(NotFoundError, ConflictError):
        resource_client(KIND).status.server_side_apply(
            body=body, namespace=run["namespace"], field_manager=f"trainer-{condition.lower()}", force_conflicts=True
        )


def owned_objects(kind: str, uid: str, namespace: str | None) -> dict[str, Object]:
    """Return the objects of *kind* that were created for a run, by name."""
    listed = resource_client(kind).get(namespace=namespace, label_selector=f"{RUN}={uid}")
    return {each["metadata"]["name"]: each for each in listed.to_dict()["items"]}


def resource_client(kind: str) -> Any:
    """Return the client for objects of *kind*."""
    return cluster().resources.get(api_version=VERSIONS[kind], kind=kind)


@functools.cache
def cluster() -> Any:
    """Return the client of the API server, with the configuration that kopf loaded at login."""
    return dynamic.DynamicClient(client.ApiClient())  # type: ignore[no-untyped-call]
