"""Updates as real controllers make them, and as `fit` plays them: results in the same form."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.cluster.control_plane import ControlPlane
from tests.cluster.installed import muster
from tests.cluster.random_leader_worker_sets import other_orders
from tests.cluster.random_rollouts import RandomRollout
from tests.cluster.resources import Manifest

_LOTS, _ORDERS = 40, 2000
"""Number of other lots, and of orders of groups that wait, that are tried if a result differs; an order can be as rare as one in fifty."""
_PLACED = ("at-once", "during")


@dataclasses.dataclass(frozen=True)
class Result:
    """How an update ends.

    Attributes:
        finished: whether it is finished.
        pods: number of pods that are old, those that are new and run, and those that are new and wait for a node; None if nothing is said.

    """

    finished: bool
    pods: tuple[int, int, int] | None

    def same(self, other: Result) -> bool:
        """Return whether the results agree."""
        return self.finished == other.finished and (None in (self.pods, other.pods) or self.pods == other.pods)


def own_pods(rollout: RandomRollout, pods: Iterable[Manifest]) -> list[Manifest]:
    """Return the pods of an object; those that are being deleted are none."""
    return [
        each
        for each in pods
        if each["metadata"].get("labels", {}).get("app") == rollout.name and not each["metadata"].get("deletionTimestamp")
    ]


def is_running(pod: Manifest) -> bool:
    """Return whether a pod has a node, and its kubelet has started it."""
    return pod.get("status", {}).get("phase") == "Running"


def observed(rollout: RandomRollout, pods: Iterable[Manifest]) -> tuple[int, int, int]:
    """Return the numbers of pods as in ``Result``."""
    mine = own_pods(rollout, pods)
    new = [each for each in mine if _image(each["spec"]) == _image(rollout.template(rollout.new)["spec"])]
    return len(mine) - len(new), sum(map(is_running, new)), sum("nodeName" not in each["spec"] for each in new)


def _image(spec: Manifest) -> str:
    return str(spec["containers"][0]["image"])


def is_finished(plane: ControlPlane, rollout: RandomRollout, pods: Iterable[Manifest]) -> bool:
    """Return whether kubectl says that the update is finished; of an object with ``OnDelete`` nothing is awaited but its number of pods."""
    if rollout.new["spec"].get("updateStrategy", {}).get("type") == "OnDelete":
        return sum(map(is_running, own_pods(rollout, pods))) == rollout.number(rollout.new)
    if rollout.kind == "LeaderWorkerSet":
        return _is_available(plane.api.get(rollout.kind, rollout.name, rollout.name))
    name = f"{rollout.kind.lower()}/{rollout.name}"
    told = plane.kubectl("rollout", "status", name, f"--namespace={rollout.name}", "--watch=false", check=True).stdout
    return "successfully rolled out" in told or "roll out complete" in told or "rolling update complete" in told


def _is_available(groups: Manifest) -> bool:
    """Return whether the controller of a LeaderWorkerSet says that all its groups are updated, from the partition on, and run."""
    conditions = {each["type"]: each["status"] for each in groups["status"].get("conditions", ())}
    return conditions.get("Available") == "True" and conditions.get("UpdateInProgress") != "True"


def fitted(objects: Sequence[Manifest], rollout: RandomRollout, folder: Path) -> Result:
    """Return what `fit` says about the update in the cluster of *objects*."""
    cluster, mine = folder / "cluster.json", folder / "mine.json"
    cluster.write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    mine.write_text(json.dumps(rollout.new), encoding="utf-8")
    done = muster("fit", str(mine), "--objects", str(cluster), "--format", "json", "--remedies", "0")
    answer = json.loads(done.stdout)
    if (played := answer.get("rollout")) is None:
        return Result(answer["verdict"] == "fits", None)
    pods = played["pods"]
    finished = played["outcome"] in _PLACED
    assert finished == (answer["verdict"] == "fits"), answer
    return Result(finished, (pods["old"], pods["new"], pods["waiting"]))


def of_rollout(objects: Iterable[Manifest], rollout: RandomRollout) -> list[Manifest]:
    """Return the objects of the cluster that concern one update."""
    nodes = {each["metadata"]["name"] for each in rollout.nodes}
    return [
        each
        for each in objects
        if (each["kind"] == "Node" and each["metadata"]["name"] in nodes) or each["metadata"].get("namespace") == rollout.name
    ]


def other_results(objects: Iterable[Manifest], rollout: RandomRollout, folder: Path) -> Iterator[Result]:
    """Yield how an update ends by `fit` with other lots."""
    mine = of_rollout(objects, rollout)
    if rollout.kind != "LeaderWorkerSet":
        yield from (fitted(each, rollout, folder) for each in other_lots(mine, rollout))
        return
    for played in other_orders(mine, rollout, _ORDERS):
        yield Result(played.outcome.value in _PLACED, (played.last.old, played.last.new, played.last.waiting))


def other_lots(objects: Sequence[Manifest], rollout: RandomRollout) -> Iterator[list[Manifest]]:
    """Yield the cluster with other names of nodes and pods, by which `fit` decides between equals.

    kube-scheduler draws lots among nodes with equal scores, a DaemonSet's controller begins with any node, and a ReplicaSet deletes
    pods that have been ready for about the same time by their random UIDs.
    """
    chance = random.Random(rollout.name)
    nodes = [each["metadata"]["name"] for each in rollout.nodes]
    pods = [each["metadata"]["name"] for each in own_pods(rollout, objects)] if rollout.kind == "Deployment" else []
    begun: dict[str, str] = {}
    for each in own_pods(rollout, objects):
        time, owner = each["metadata"]["creationTimestamp"], each["metadata"]["ownerReferences"][0]["name"]
        begun[owner] = min(begun.get(owner, time), time)
    for each in own_pods(rollout, objects):
        each["metadata"]["creationTimestamp"] = begun[each["metadata"]["ownerReferences"][0]["name"]]
    for _ in range(_LOTS):
        new_names = {
            name: f"k{number:03}-{name}" for names in (nodes, pods) for number, name in enumerate(chance.sample(names, len(names)))
        }
        pattern = re.compile("|".join(rf'(?<="){re.escape(name)}(?=")' for name in new_names))
        yield json.loads(pattern.sub(lambda match, names=new_names: names[match[0]], json.dumps(objects)))


def snapshot(plane: ControlPlane) -> list[Manifest]:
    """Return the cluster as `muster snapshot` writes it."""
    done = muster("snapshot", "--kubeconfig", str(plane.kubeconfig))
    assert 0 == done.returncode, done.stderr
    items: list[Manifest] = json.loads(done.stdout)["items"]
    return items
