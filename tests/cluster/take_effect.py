"""Configuration that the API server applies only some time after it was written: roles, priority classes, kinds of a test.

It reads them from its own watches, so a request right after the write may be handled without them.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.cluster.api import NOT_FOUND, Api, ApiError
from tests.cluster.kubelet import pod
from tests.cluster.resources import SCHEDULING, Manifest
from tests.cluster.waiting import until

FORBIDDEN, TOO_MANY = 403, 429
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def await_rights(api: Api, subject: Manifest, rules: Iterable[Mapping[str, Any]], namespace: str = "") -> None:
    """Wait until the server lets *subject*, of a binding, do what *rules*, of a role, say."""
    account = subject["kind"] == "ServiceAccount"
    user = f"system:serviceaccount:{subject['namespace']}:{subject['name']}" if account else subject["name"]
    for rule in (each for each in rules if "resources" in each):
        until(functools.partial(_allowed, api, user, rule, namespace), told=functools.partial("{} may not {}".format, user, rule))


def _allowed(api: Api, user: str, rule: Mapping[str, Any], namespace: str) -> bool:
    """Return true if *user* has the first right of *rule*; the rights of one role take effect together."""
    resource, _, subresource = rule["resources"][0].partition("/")
    requested = {
        "verb": rule["verbs"][0],
        "group": rule["apiGroups"][0],
        "resource": resource,
        "subresource": subresource,
        "name": next(iter(rule.get("resourceNames", ())), ""),
        "namespace": namespace,
    }
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    answer = api.send("POST", REVIEWS, {**review, "spec": {"user": user, "resourceAttributes": requested}})
    allowed: bool = answer.content["status"]["allowed"]
    return allowed


@contextlib.contextmanager
def priority_classes(api: Api, values: Mapping[str, int]) -> Iterator[None]:
    """PriorityClasses with these values by name, on an API server with the plugin Priority; they go without a trace."""
    try:
        add_classes(api, values)
        yield
    finally:
        remove_classes(api, values)


def add_classes(api: Api, values: Mapping[str, int]) -> None:
    """Create PriorityClasses, and wait until pods are given their values."""
    for name, value in values.items():
        api.create({"apiVersion": f"{SCHEDULING}/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value})
    for name, value in values.items():
        until(functools.partial(_gets_priority, api, name, value), told=functools.partial("priority class {} has no effect".format, name))


def remove_classes(api: Api, names: Iterable[str]) -> None:
    """Delete PriorityClasses, and wait until pods of them are refused: another of the name would seem to be there already."""
    for name in names:
        api.delete("PriorityClass", name)
        until(functools.partial(_gets_priority, api, name, None), told=functools.partial("priority class {} stays in effect".format, name))


def _gets_priority(api: Api, name: str, value: int | None) -> bool:
    """Return true if a pod of the class *name* gets this priority; for None, if it is refused."""
    try:
        created = api.create(pod("probe", "default", spec={"priorityClassName": name}), dryRun="All")
    except ApiError as error:
        # A server that has just begun has not made its namespaces yet.
        if error.code not in (FORBIDDEN, NOT_FOUND):
            raise
        return error.code == FORBIDDEN and value is None
    return bool(created["spec"]["priority"] == value)


def define(api: Api, definition: Manifest, kind: str) -> None:
    """Create a CustomResourceDefinition, and wait until its *kind*, which RESOURCES has by then, is served."""
    api.create(definition)
    api.wait("CustomResourceDefinition", definition["metadata"]["name"], until=_established)
    until(functools.partial(_served, api, kind), told=functools.partial("{} is not served".format, kind))


def _established(found: Manifest | None) -> bool:
    conditions = ((found or {}).get("status") or {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)


def _served(api: Api, kind: str) -> bool:
    try:
        api.objects(kind)
    except ApiError as error:
        # It says that the kind's storage is being initialized.
        if error.code not in (NOT_FOUND, TOO_MANY):
            raise
        return False
    return True
