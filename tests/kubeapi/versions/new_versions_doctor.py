"""The doctor on installations with the versions that ``extended_table`` adds; run by ``test_new_versions``."""

from __future__ import annotations

import pytest

from kubeapi.versions import served_versions
from kubeapi.versions.api_versions import CUSTOM
from kubeapi.versions.served_versions import WORKLOAD_GROUPS
from muster.doctor import rights
from muster.doctor.checks import api_not_served, self_lock
from muster.doctor.control_plane import observed_api_server
from muster.doctor.finding import Diagnosis
from muster.doctor.world import ApiServer
from tests.kubeapi.versions.extended_table import OTHER, STABLE
from tests.muster.doctor import worlds

KINDS = ("Workload", "PodGroup", "CompositePodGroup")
BUILT_IN = [STABLE, OTHER]
EVERY = [*BUILT_IN, f"{CUSTOM}/v1beta1"]


def server_of(api_version: str) -> ApiServer:
    """Return the facts of an API server that serves our kinds in that version only."""
    return ApiServer(37, frozenset(f"{api_version}/{served_versions.resource(kind).resource}" for kind in KINDS), worlds.GATES)


@pytest.mark.parametrize("api_version", EVERY)
def test_permissions_and_served_kinds(api_version: str) -> None:
    group = api_version.partition("/")[0]
    seen = worlds.world(api_server=server_of(api_version))
    needed = {str(each) for _, permissions in rights.needed(seen) for each in permissions}

    assert [*api_not_served.check(seen)] == []
    assert {f"patch podgroups.{group}/status", f"watch compositepodgroups.{group}", f"list workloads.{group}"} <= needed
    assert not any(f"podgroups.{other}" in each for each in needed for other in WORKLOAD_GROUPS - {group})


@pytest.mark.parametrize("api_version", EVERY)
def test_reports_groups_that_are_locked_out(api_version: str) -> None:
    group, _, version = api_version.partition("/")
    rule = {"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"], "resources": ["podgroups"]}
    reviewing = worlds.in_webhooks(lambda each: each.update(rules=[rule], namespaceSelector={}), 0)
    locked = worlds.world(reviewing, api_server=server_of(api_version))
    results = [each.message for each in self_lock.check(locked) if isinstance(each, Diagnosis)]

    assert any("also reviews groups in muster-system" in each for each in results), results


@pytest.mark.parametrize("api_version", BUILT_IN)
@pytest.mark.parametrize(
    ("flags", "is_served"), [([], True), (["--runtime-config={}=false"], False), (["--runtime-config=api/ga=0"], False)]
)
def test_reads_flags(api_version: str, flags: list[str], is_served: bool) -> None:
    program = worlds.control_plane("kube-apiserver", "v1.37.1", *(each.format(api_version) for each in flags))
    facts = observed_api_server(worlds.world(lambda each: each.update({("Pod", "kube-apiserver"): program}), live=False))

    assert facts is not None
    assert facts.resources is not None
    assert (f"{api_version}/podgroups" in facts.resources) == is_served
