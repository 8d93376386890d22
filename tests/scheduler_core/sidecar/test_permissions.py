"""Permissions of the sidecar: those that its modes need, those that the manifests grant, and the check of them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from apiserver.api import ReplyError
from kubeapi.versions.api_versions import CUSTOM, SCHEDULING
from kubeapi.versions.served_versions import resources
from scheduler_core.sidecar.cache.cache import FROM_START, RESOURCES
from scheduler_core.sidecar.cache.optional_watches import reads_of
from scheduler_core.sidecar.client.access_review import PATH, Permission, is_granted
from scheduler_core.sidecar.process.permissions import PermissionCheck, needed_permissions
from scheduler_core.sidecar.settings import Mode, Settings
from scheduler_core.sidecar.writes import EvictionMethod
from tests.quick_yaml import documents
from tests.webhooks.running import until

KINDS = frozenset({"Pod", "PodGroup", "CompositePodGroup"})
BOTH = KINDS | {f"{kind}.{CUSTOM}" for kind in ("PodGroup", "CompositePodGroup")}
SIDECAR = Path(__file__).parents[3] / "deploy" / "sidecar"
MANIFESTS = [each for name in ("rbac", "build") for each in documents((SIDECAR / f"{name}.yaml").read_text(encoding="utf-8"))]
BIND = Permission("pods/binding", "create")
WATCH = ("list", "watch")
OF_CACHE = tuple(mode for mode in Mode if mode is not Mode.BUILD)
"""Modes whose kinds the cache watches; ``tests/deploy`` has the role of the other one."""
MODES = [*((mode,) for mode in OF_CACHE if mode is not Mode.PREEMPT), (Mode.PLACE, Mode.PREEMPT), (Mode.UNGATE, Mode.PREEMPT), OF_CACHE]
"""Each mode alone; preempt needs place or ungate."""


def granted(*modes: str) -> set[tuple[str, str, str, str]]:
    """Return group, resource, verb and name of all grants of the roles of these modes, and of the role of all modes."""
    names = {"muster-sidecar", *(f"muster-sidecar-{mode}" for mode in modes)}
    return {
        (group, resource, verb, name)
        for each in MANIFESTS
        if each["kind"] in ("Role", "ClusterRole") and each["metadata"]["name"] in names
        for rule in each["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


@pytest.mark.parametrize("mode", list(Mode))
def test_each_api_group_that_is_served_needs_the_same(mode):
    """Of a group that is not served nothing is needed."""

    def needed(served):
        return {*needed_permissions(Settings(modes=frozenset({mode})), served)}

    of_groups = {each for each in needed(KINDS) if each.group == SCHEDULING and each.resource != "priorityclasses"}
    ours = {dataclasses.replace(each, group=CUSTOM) for each in of_groups}
    assert of_groups
    assert needed(KINDS) | ours == needed(BOTH)
    assert needed(KINDS) - of_groups | ours == needed(BOTH - KINDS)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("method", list(EvictionMethod))
def test_the_role_of_a_mode_grants_what_the_mode_needs(mode, method):
    needed = needed_permissions(Settings(modes=frozenset({mode}), eviction_method=method), BOTH)
    assert set() == {(each.group, each.resource, each.verb, each.name) for each in needed} - granted(mode)


def test_the_roles_grant_no_write_that_no_mode_needs():
    every = {
        each for method in EvictionMethod for each in needed_permissions(Settings(modes=frozenset(OF_CACHE), eviction_method=method), BOTH)
    }
    needed = {(each.group, each.resource, each.verb, each.name) for each in every}
    assert set() == {each for each in granted(*OF_CACHE) if each[2] not in ("list", "watch")} - needed


def test_a_kind_that_is_not_served_and_a_lease_that_is_not_used_need_no_permission():
    needed = needed_permissions(Settings(lease=None), frozenset({"Pod", "PodGroup"}))
    assert not [each for each in needed if "composite" in each.resource or each.resource == "leases"]


@pytest.mark.parametrize("modes", MODES, ids=",".join)
def test_the_roles_grant_to_watch_exactly_the_kinds_that_modes_can_need(modes):
    settings = Settings(modes=frozenset(modes))
    later = {(each.group, each.resource, verb) for kind in reads_of(settings).kinds() for each in resources(kind) for verb in WATCH}
    always = {(each.group, each.resource, verb) for each in map(RESOURCES.__getitem__, FROM_START) for verb in WATCH}
    assert later == {(each.group, each.resource, each.verb) for each in needed_permissions(settings, BOTH) if each.verb in WATCH}
    assert later | always == {each[:3] for each in granted(*modes) if each[2] in WATCH}


@pytest.mark.parametrize(
    ("permission", "text"),
    [
        pytest.param(BIND, "create pods/binding", id="a subresource"),
        pytest.param(
            Permission("podgroups/status", "patch", "scheduling.k8s.io"), "patch podgroups.scheduling.k8s.io/status", id="a group"
        ),
        pytest.param(
            Permission("leases", "create", "coordination.k8s.io", "here"),
            "create leases.coordination.k8s.io in namespace here",
            id="a namespace",
        ),
        pytest.param(
            Permission("leases", "get", "coordination.k8s.io", "here", "it"), "get leases.coordination.k8s.io here/it", id="an object"
        ),
    ],
)
def test_a_permission_is_written_as_kubectl_writes_it(permission, text):
    assert text == str(permission)


class Server:
    """An API server that grants everything but *refused*, or fails."""

    def __init__(self, *refused: str) -> None:
        self.refused = set(refused)
        self.error: Exception | None = None
        self.requests: list[Any] = []

    def send(self, method: str, path: str, body: bytes, *, seconds: float) -> bytes:
        assert (method, path, True) == ("POST", PATH, seconds > 0)
        if self.error is not None:
            raise self.error
        attributes = json.loads(body)["spec"]["resourceAttributes"]
        self.requests.append(attributes)
        name = "/".join(filter(None, (attributes["resource"], attributes.get("subresource"))))
        return json.dumps({"status": {"allowed": name not in self.refused}}).encode()


def checked(server: Server) -> tuple[PermissionCheck, list[tuple[str, str]]]:
    lines: list[tuple[str, str]] = []
    api: Any = server
    return PermissionCheck(api, lambda: (BIND, Permission("pods", "get")), lambda *line: lines.append(line)), lines


def test_a_review_names_the_parts_of_a_permission():
    server: Any = Server()
    assert is_granted(server, Permission("podgroups/status", "patch", "scheduling.k8s.io", "n", "g"))
    parts = {"resource": "podgroups", "subresource": "status", "verb": "patch", "group": "scheduling.k8s.io", "namespace": "n", "name": "g"}
    assert [parts] == server.requests


def test_a_missing_permission_is_named_and_logged_once_until_it_is_granted():
    server = Server("pods/binding")
    check, lines = checked(server)
    text = "missing permission: create pods/binding"
    assert [False, False] == [check.check(), check.check()]
    assert ((text,), [("warning", text)]) == (check.missing(), lines)
    server.refused.clear()
    assert check.check()
    assert ((), ("info", "all permissions are granted")) == (check.missing(), lines[-1])


def test_nothing_is_logged_when_all_are_granted_from_the_start():
    check, lines = checked(Server())
    assert (True, (), []) == (check.check(), check.missing(), lines)


@pytest.mark.parametrize("error", [ReplyError(404, "not found"), OSError("refused"), ValueError("not JSON")])
def test_a_check_that_fails_is_no_reason_to_be_unready(error):
    server = Server()
    server.error = error
    check, lines = checked(server)
    assert [False, False] == [check.check(), check.check()]
    assert (1, ()) == (len(lines), check.missing())
    assert lines[0][1].startswith("permissions cannot be checked: ")


def test_a_check_that_fails_keeps_the_last_result():
    server = Server("pods/binding")
    check, _ = checked(server)
    check.check()
    server.error = OSError("refused")
    assert (False, ("missing permission: create pods/binding",)) == (check.check(), check.missing())
    server.error = None
    server.refused.clear()
    assert (True, ()) == (check.check(), check.missing())


def test_it_is_checked_again_on_request(monkeypatch):
    monkeypatch.setattr("scheduler_core.sidecar.process.permissions.MIN_INTERVAL_SECONDS", 0.01)
    server = Server("pods/binding")
    check, _ = checked(server)
    check.start()
    try:
        until(check.missing)
        server.refused.clear()
        check.recheck()
        until(lambda: not check.missing())
    finally:
        check.stop()
