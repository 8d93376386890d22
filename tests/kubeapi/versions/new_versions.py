"""Commands given objects of the versions that ``extended_table`` adds; run by ``test_new_versions``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from apiserver.api import Api
from kubeapi.versions import served_versions
from kubeapi.versions.api_versions import CUSTOM
from kubeapi.versions.served_versions import WORKLOAD_GROUPS
from muster import cli
from scheduler_core.cluster.load import load
from scheduler_core.model.devices import Allocation
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.informers import Informers
from scheduler_core.sidecar.client.claim_status import changed_claim
from scheduler_core.sidecar.client.requests import Paths
from scheduler_core.sidecar.process.mailbox import Mailbox
from scheduler_core.sidecar.process.permissions import needed_permissions
from scheduler_core.sidecar.settings import Settings as SidecarSettings
from scheduler_core.sidecar.writes import AllocateClaim, Ref
from tests.apiserver.fake import serving
from tests.custom_group import in_custom_group
from tests.kubeapi.versions.extended_table import OTHER, STABLE
from tests.muster import test_snapshot_cluster
from tests.muster.why import test_why as test_why_command
from tests.scheduler_core.builders import composite, leaf, node, pod
from tests.scheduler_core.sidecar.histories import Server, told
from tests.webhooks.running import REVIEW
from validators.object_lookup import NOTHING
from webhooks.lookup import watched
from webhooks.lookup.object_cache import Cache as ObjectCache
from webhooks.server import routes
from webhooks.server.metrics import Telemetry
from webhooks.settings import Settings
from workloadbuilder import Builder

Json = dict[str, Any]
KINDS = ("Workload", "PodGroup", "CompositePodGroup")
CUSTOM_RESOURCES = f"{CUSTOM}/v1beta1"
pytestmark = pytest.mark.parametrize("api_version", [STABLE, OTHER, CUSTOM_RESOURCES])
api, server = test_snapshot_cluster.api, test_why_command.server


def tree(minimum: int) -> list[Json]:
    template = {"name": "g", "schedulingPolicy": {"gang": {"minCount": minimum}}}
    spec = {"compositePodGroupTemplates": [{"name": "run", "schedulingPolicy": {"basic": {}}, "podGroupTemplates": [template]}]}
    return [{"kind": "Workload", "metadata": {"name": "w"}, "spec": spec}, composite("run"), leaf("g", minimum, parent="run")]


SOUND, WRONG = tree(2), tree(-1)
NODE, MEMBERS = node("n1"), [pod(f"g-{number}", "g") for number in range(2)]


def written(objects: list[Json], api_version: str) -> list[Json]:
    """Return *objects*, those of scheduling.k8s.io with *api_version*."""
    return [{**each, "apiVersion": api_version} if each["kind"] in KINDS else each for each in objects]


def members(api_version: str, pods: list[Json] = MEMBERS) -> list[Json]:
    """Return the pods as they name their group in a cluster with *api_version*: custom resources by label."""
    return in_custom_group(pods) if api_version == CUSTOM_RESOURCES else pods


def cluster(api_version: str) -> list[Json]:
    return [NODE, *written(SOUND, api_version), *members(api_version)]


def muster(*arguments: str, given: list[Json] | str = "") -> Result:
    text = given if isinstance(given, str) else json.dumps({"apiVersion": "v1", "kind": "List", "items": given})
    return CliRunner().invoke(cli.main, [*arguments], input=text)


def bare(each: Json) -> Json:
    """Return *each* as an item of a list."""
    return {name: value for name, value in each.items() if name not in {"apiVersion", "kind"}}


def review(api_version: str, new: Json) -> str:
    group, _, version = api_version.rpartition("/")
    about = {"group": group, "version": version, "kind": new["kind"]}
    return json.dumps({**REVIEW, "request": {**REVIEW["request"], "kind": about, "object": {**new, "apiVersion": api_version}}})


def test_lint(api_version: str) -> None:
    sound = muster("lint", "-", given=written(SOUND, api_version))
    wrong = json.loads(muster("lint", "-", "--format", "json", given=written(WRONG, api_version)).stdout)

    assert sound.exit_code == 0, sound.output
    result = {(each["document"]["apiVersion"], each["rule"], each["field"]) for each in wrong["findings"]}
    assert (api_version, "gang-minimum", "spec.schedulingPolicy.gang.minCount") in result
    assert len([each for each in result if each[1] == "gang-minimum"]) == 2


def test_lint_names_the_versions_that_are_there(api_version: str) -> None:
    told_ = muster("lint", "-", given=[{**SOUND[2], "apiVersion": f"{api_version}9"}]).stdout

    assert f'"{api_version}"' in told_


@pytest.mark.parametrize("path", ["/validate", "/mutate", "/admit"])
@pytest.mark.parametrize("new", [*SOUND, *WRONG], ids=lambda each: each["kind"])
def test_review(api_version: str, new: Json, path: str) -> None:
    # By default, custom resources get no finalizers.
    arguments = ("review", "--path", path, "--finalizers", "all", "-")
    want = muster(*arguments, given=review(served_versions.hub_of(new["kind"]).name, new))
    group = api_version.partition("/")[0]

    assert muster(*arguments, given=review(api_version, new)).stdout == want.stdout.replace("scheduling.k8s.io", group)


def test_migrate(api_version: str) -> None:
    """A Workload of that version stays, its pods get a group of that version; retired objects stay in their group."""
    flat = {"podGroupTemplates": [{"name": "workers", "schedulingPolicy": {"gang": {"minCount": 2}}}]}
    given = [{"apiVersion": api_version, "kind": "Workload", "metadata": {"name": "train"}, "spec": flat}]
    given.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": []}})
    given[-1]["spec"]["workloadRef"] = {"name": "train", "podGroup": "workers"}
    retired = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "old"},
        "spec": {"schedulingPolicy": {"basic": {}}},
    }
    answer = muster("migrate", "--to", "v1", "-", given=[*given, retired])

    assert answer.exit_code == 0, answer.output
    after = json.loads(answer.stdout)["items"]
    assert given[0] in after
    assert [each["apiVersion"] for each in after if each["kind"] == "PodGroup"] == [api_version, STABLE]


def test_snapshot(api_version: str) -> None:
    want = members(api_version, json.loads(muster("snapshot", "-", given=cluster("scheduling.k8s.io/v1alpha3")).stdout)["items"])

    assert json.loads(muster("snapshot", "-", given=cluster(api_version)).stdout)["items"] == written(want, api_version)


def test_snapshot_of_a_live_cluster(api_version: str, api: test_snapshot_cluster.Api) -> None:
    group, _, version = api_version.partition("/")
    base = f"/apis/{api_version}"
    for known in (api.lists, api.answers):
        for path in [each for each in known if "v1alpha" in each]:
            del known[path]
    api.answers |= {f"/apis/{group}": {"versions": [{"version": version}]}, base: {"resources": [{"name": "podgroups"}]}}
    api.lists[f"{base}/podgroups"] = (api_version, "PodGroupList", [bare(leaf("g", 1))])
    answer = muster("snapshot", "--kubeconfig", "config")

    assert answer.exit_code == 0, answer.output
    items = json.loads(answer.stdout)["items"]
    assert [each["metadata"]["name"] for each in items if each.get("apiVersion") == api_version] == ["g"]


def test_simulate(api_version: str) -> None:
    want = muster("simulate", "-", "--format", "json", given=cluster("scheduling.k8s.io/v1alpha3"))
    answer = muster("simulate", "-", "--format", "json", given=cluster(api_version))

    assert (0, want.stdout) == (answer.exit_code, answer.stdout), answer.output
    assert '"default/g-1": "n1"' in answer.stdout


def test_fit(api_version: str, tmp_path: Path) -> None:
    snapshot = tmp_path / "cluster.json"
    snapshot.write_text(json.dumps(NODE), encoding="utf-8")
    arguments = ("fit", "-", "--objects", str(snapshot), "--format", "json")
    pods = json.loads(json.dumps(MEMBERS).replace('"containers": [{', '"containers": [{"image": "i", '))
    want = muster(*arguments, given=[*written(SOUND, "scheduling.k8s.io/v1alpha3"), *pods])
    answer = muster(*arguments, given=[*written(SOUND, api_version), *members(api_version, pods)])

    assert (0, want.stdout) == (answer.exit_code, answer.stdout), answer.output
    assert '"default/g-1": "n1"' in answer.stdout


def test_topology(api_version: str) -> None:
    """The topology key of the group is a level."""
    objects = [node("n1", rack="r1"), leaf("g", 1, "rack"), pod("g-0", "g", on="n1")]
    want = muster("topology", "--objects", "-", given=objects)
    answer = muster("topology", "--objects", "-", given=written(objects, api_version))

    assert (0, want.stdout) == (answer.exit_code, answer.stdout), answer.output
    assert "rack r1" in answer.stdout


def test_why(api_version: str, server: Any) -> None:
    want = muster("why", "workers", "-n", "team", "--format", "json")
    test_why_command.serve_only(server, api_version)
    answer = muster("why", "workers", "-n", "team", "--format", "json")

    assert (1, want.stdout) == (answer.exit_code, answer.stdout), answer.output


@pytest.mark.parametrize("path", [routes.VALIDATE, routes.MUTATE])
def test_webhooks(api_version: str, path: str) -> None:
    settings = Settings.from_environ({})
    routes.warm_up(settings)
    app = routes.create_app(settings, NOTHING, Telemetry(lambda *_: None), lambda: ()).test_client()
    answers = [app.post(path, data=review(api_version, each), content_type=routes.JSON).json["response"] for each in WRONG[1:]]

    if path == routes.VALIDATE:
        assert [True, False] == [each["allowed"] for each in answers]
        assert ["spec.schedulingPolicy.gang.minCount"] == [each["field"] for each in answers[1]["status"]["details"]["causes"]]
    else:
        assert all(each["patch"] for each in answers)
    assert not any(each.get("warnings") for each in answers)


@pytest.fixture
def only(api_version: str) -> Iterator[Api]:
    """Return an API server that serves our kinds in that version only."""
    base = f"/apis/{api_version}"

    def answer(_: str, path: str, __: bytes) -> tuple[int, dict[str, str], Json]:
        if path != base:
            return 200, {}, {"resources": []}
        return 200, {}, {"resources": [{"name": served_versions.resource(kind).resource} for kind in KINDS]}

    with serving(answer) as (_, result):
        yield result


def test_webhooks_watch(api_version: str, only: Api) -> None:
    paths = [watched.watcher(only, each, ObjectCache(each.kind, 1.0), 1.0)._find() for each in watched.WATCHED if each.kind in KINDS]

    assert [*filter(None, paths)] == [f"/apis/{api_version}/{served_versions.resource(kind).resource}" for kind in KINDS]


def test_informers(api_version: str, only: Api) -> None:
    informers = Informers(only, Mailbox(), lambda *_: None, silence=90.0)
    for watcher in informers._watchers.values():
        watcher._find()
    paths, group = Paths(informers.paths), served_versions.other_group("PodGroup", api_version.partition("/")[0])
    refs = [Ref(kind, "default", "g", "u", group) for kind in KINDS]

    assert {*informers.paths} == {each.resource for each in refs}
    assert {paths.api_version(each.resource) for each in refs} == {api_version}
    assert paths.object_path(refs[1]) == f"/apis/{api_version}/namespaces/default/podgroups/g"


def test_permissions(api_version: str, only: Api) -> None:
    informers = Informers(only, Mailbox(), lambda *_: None, silence=90.0)
    for watcher in informers._watchers.values():
        watcher._find()
    needed = {str(each) for each in needed_permissions(SidecarSettings(), informers.served())}

    group = api_version.partition("/")[0]
    assert {f"get podgroups.{group}", f"patch compositepodgroups.{group}/status", f"watch workloads.{group}"} <= needed
    assert not any(f"podgroups.{other}" in each for each in needed for other in WORKLOAD_GROUPS - {group})


def test_consumer_of_a_claim(api_version: str) -> None:
    group = served_versions.other_group("PodGroup", api_version.partition("/")[0])
    write = AllocateClaim(Ref("ResourceClaim", "default", "c", "u"), Allocation(()), (Ref("PodGroup", "default", "g", "v", group),))
    status = changed_claim(write, {"metadata": {"name": "c"}, "spec": {"devices": {}}}, "2026-01-01T00:00:00Z")["status"]

    assert status["reservedFor"] == [{"apiGroup": api_version.partition("/")[0], "resource": "podgroups", "name": "g", "uid": "v"}]


@pytest.mark.parametrize("listed", [True, False], ids=["as items of lists", "as events"])
def test_cache(api_version: str, listed: bool) -> None:
    server, cache = Server(), Cache()
    for each in cluster(api_version):
        server.put(each)
    for kind in ("Node", "Pod", *KINDS):
        result = [each for name, each in server.objects.items() if name[0] == kind]
        resource = served_versions.resource(kind, api_version.partition("/")[0] if kind in KINDS else "").name
        if listed:
            cache.replace(resource, [json.dumps(bare(each)).encode() for each in result], str(server.version))
        else:
            for each in result:
                cache.apply(resource, "ADDED", json.dumps(each).encode())

    want = load([json.dumps(each).encode() for each in server.objects.values()])
    assert want.problems == ()
    assert len(want.groups) == 2
    assert told(want) == told(cache.snapshot())


def test_groups_of_a_workload(api_version: str) -> None:
    builder = Builder.from_workload(written(SOUND, api_version)[0])

    assert [builder.composite_pod_group("run")["apiVersion"], builder.pod_group("g")["apiVersion"]] == [api_version] * 2
