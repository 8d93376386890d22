"""A placement plugin of another package in a running sidecar, on a real API server."""

from __future__ import annotations

import pytest

from tests.cluster.groups import LABEL, SCHEDULED, condition_of, pod_group
from tests.cluster.sidecars import sidecar
from tests.cluster.test_sidecar_place import bound, events_of, in_step, ours, racks
from tests.cluster.waiting import until

PLUGIN = '''
class NotInRackZero:
    """A check: no pod of a group in rack r0; and one that has no answer for groups called broken."""

    def check(self, entity, assigned, nodes):
        if entity.name.name == "broken":
            raise RuntimeError("no licence")
        return "r0 is being rebuilt" if any(nodes.names[node].startswith("r0-") for _, node in assigned) else ""
'''
RAISES = '            raise RuntimeError("no licence")'


@pytest.fixture(scope="module")
def started(plane, tmp_path_factory):
    package = tmp_path_factory.mktemp("package")
    (package / "racks_example.py").write_text(PLUGIN)
    about = package / "racks_example-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: racks-example\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[muster.feasibility_checks]\nnot-in-rack-zero = racks_example:NotInRackZero\n")
    options = ("--mode", "place", "--lease", "none", "--plugin", "not-in-rack-zero")
    with sidecar(plane, tmp_path_factory.mktemp("plugins"), *options, environ={"PYTHONPATH": str(package)}) as running:
        yield running


def test_a_plugin_has_its_say_and_one_that_fails_costs_its_group_only(started, api, namespace, nodes):
    in_step(api, namespace, nodes)
    nodes(*racks(2))
    for name in ("broken", "train"):
        api.create(pod_group(name, namespace, minimum=2, key=LABEL))
        api.create_all([ours(f"{name}-{number}", namespace, name, cpu=2) for number in range(2)])
    result = bound(api, namespace, 2)

    assert {"train-0", "train-1"} == {name for name, node in result.items() if node}
    assert {"r1"} == {node.partition("-")[0] for node in result.values() if node}
    group = api.wait(
        "PodGroup", "broken", namespace, until=lambda result: condition_of(result, SCHEDULED["PodGroup"]).get("status") == "False"
    )
    messages = condition_of(group, SCHEDULED["PodGroup"])
    assert "SchedulerError" == messages["reason"]
    assert "placement plugin NotInRackZero.check failed: RuntimeError: no licence (" in messages["message"]
    assert f"racks_example.py:{PLUGIN.splitlines().index(RAISES) + 1})" in messages["message"]
    until(lambda: "FailedScheduling" in events_of(api, namespace, "broken"))
    assert 200 == started.get("/healthz")[0]
