"""Checks of the plugin that the recipe for plugins in the tree adds; run where the packages have it, not collected by pytest."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner
from scheduler_core.plugins.node_licences import OFFERED, TOO_FEW

from muster.cli import main
from muster.commands.snapshot.snapshot_document import keep_simulated_fields
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.status import Status
from scheduler_core.sidecar.writes import Bind
from scheduler_core.whatif.remedies.remedies import advise
from scheduler_core.wording import decision_words
from tests.scheduler_core.builders import Json, cluster_of, decided, leaf, node, placed, pod, reasons_of
from tests.scheduler_core.sidecar.test_scheduler import MUSTER, Scene, nodes_of, of


def offering(name: str, licences: int) -> Json:
    made = node(name)
    made["spec"] = {**made.get("spec", {}), "licences": licences}
    return made


def needing(name: str, group: str = "", **more: object) -> Json:
    made = pod(name, group, **more)
    made["spec"]["licences"] = 1
    return made


NODES = [offering("n0", 0), offering("n1", 2)]
GANG = [leaf("g", 2), needing("g-0", "g"), needing("g-1", "g")]
TOO_MANY = [leaf("g", 3), *(needing(f"g-{number}", "g") for number in range(3))]


def placement() -> None:
    for strategy in ("greedy", "complete"):
        assert {"n1"} == {*placed(decided([*NODES, *GANG], strategy=strategy)).values()}
        assert Status.SUCCESS is not decided([*NODES, *TOO_MANY], strategy=strategy).status
        ordinary = [*NODES, leaf("g", 1), pod("g-0", "g")]
        assert placed(decided(ordinary, strategy=strategy))


def preemption() -> None:
    low = [needing("low-0", on="n1"), needing("low-1", on="n1")]
    decision = decided([*NODES, *low, needing("high", priority=9)])
    assert len(decision.victims) == 1, decision.victims


def diagnosis() -> None:
    decision = decided([*NODES, *TOO_MANY])
    text = decision_words.message(decision)
    assert TOO_FEW in reasons_of(decision)["default/g-2"]
    assert f"both nodes are refused by plugin NodeLicences: {TOO_FEW}" in text
    assert "depend on other pods through a plugin that kube-scheduler does not have" in text


def page() -> None:
    with TemporaryDirectory() as directory:
        written = Path(directory, "cluster.json")
        written.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*NODES, *TOO_MANY]}), encoding="utf-8")
        made = CliRunner().invoke(main, ["simulate", str(written), "--format", "html"])
        assert TOO_FEW in made.output, made.output[:2000]


def sidecar() -> None:
    scene = Scene(*NODES, leaf("g", 3), *(needing(f"g-{number}", "g", **MUSTER) for number in range(3)))
    assert not of(Bind, scene.writes())
    scene.put(offering("n0", 1))
    nodes = nodes_of(of(Bind, scene.wait(1000)))
    assert sorted(nodes.values()) == ["n0", "n1", "n1"], nodes


def snapshots() -> None:
    kept = json.loads(keep_simulated_fields([json.dumps(each).encode() for each in [*NODES, *GANG]]).document())["items"]
    licences = {each["metadata"]["name"]: each["spec"].get("licences") for each in kept if each["kind"] in ("Node", "Pod")}
    assert {"n0": 0, "n1": 2, "g-0": 1, "g-1": 1} == licences, licences


def what_if() -> None:
    objects = [*NODES, *TOO_MANY]
    cluster = cluster_of(objects)
    before = cluster.snapshot()
    cluster.apply(offering("n2", 5), offering("n0", 7))
    after = cluster.snapshot()
    assert not cluster.builds_anew
    assert ((0, 2), (7, 2, 5)) == (tuple(OFFERED.by_node(before.nodes)), tuple(OFFERED.by_node(after.nodes)))
    options = CycleOptions(strategy="complete")
    snapshot = load(objects)
    advise(objects, snapshot, decided(objects, strategy="complete"), options)


if __name__ == "__main__":
    for check in (placement, preemption, diagnosis, page, sidecar, snapshots, what_if):
        check()
        print(check.__name__)
