"""``muster demo --cluster``: the webhooks and the sidecar at work on a real API server.

A control plane is started for it, everything is installed on it as on a cluster, and all of it is gone at the end.  There
are no kubelets: a pod that is bound counts as running, and one that is evicted is let go as a kubelet would.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from muster import demo_install, demo_plane
from muster.demo_install import HERE, RESEARCH
from muster.demo_kubectl import Cluster, Object, columns, condition, manifests, until
from muster.demo_stage import DATA, Stage

PLACEMENT = DATA / "placement"
GROUPS = "scheduling.k8s.io/v1alpha3"
RACK, ZONE = "example.com/rack", "topology.kubernetes.io/zone"
_SCHEDULED = {"PodGroup": "PodGroupInitiallyScheduled", "CompositePodGroup": "CompositePodGroupInitiallyScheduled"}


def show(stage: Stage) -> None:
    """Show it.

    Raises:
        ServerError: there is no control plane to be started, or something does not come about.
    """
    demo_plane.programs()
    stage.say("Muster at work on a control plane of its own: a real API server, the webhooks, the sidecar.")
    stage.title("1  Installing: as deploy/ does it, each process with the rights of its ServiceAccount")
    with tempfile.TemporaryDirectory(prefix="muster-demo-") as name, demo_install.installed(stage, Path(name)) as cluster:
        story = _Story(stage, cluster)
        story.admission()
        story.training()
        story.preemption()
        story.invalid()
    stage.say("The sidecar, the webhook server and the control plane have stopped; nothing of them is left.")


class _Story:
    """What happens on the cluster, in order."""

    def __init__(self, stage: Stage, cluster: Cluster) -> None:
        self._stage, self._cluster = stage, cluster
        self._groups = {each["metadata"]["name"]: each for each in manifests(PLACEMENT / "groups.yaml")}
        self._pods = manifests(PLACEMENT / "pods.yaml")

    def admission(self) -> None:
        """A Workload is taken, and a group is refused."""
        self._stage.title("2  Admission: the API server asks the webhooks")
        self._stage.tell("A group that would leave as a whole and is not placed as a whole:")
        (unfit,) = manifests(HERE / "refused.yaml")
        self._stage.command("kubectl create --dry-run=server -f refused.yaml")
        self._stage.outcome("refused", "red", [self._cluster.refusal(unfit)])
        self._stage.tell("The Workload of a training run: two stages of four pods, all in one zone, each stage in one rack.")
        self._stage.command("kubectl create -f workload.yaml")
        self._stage.outcome("created", "green", [self._cluster.create(each) for each in manifests(HERE / "workload.yaml")])

    def training(self) -> None:
        """Nodes, what runs on them, and a tree that is placed."""
        self._stage.title("3  A training job: its tree is placed whole")
        self._stage.tell(
            "Eight machines with eight GPUs each, in two zones of two racks; two notebooks and a server run. The groups and pods of the "
            "training run are created one by one; the sidecar binds them once all are there."
        )
        for each in (*manifests(PLACEMENT / "nodes.yaml"), *manifests(PLACEMENT / "running.yaml")):
            self._cluster.create(each)
        self._stage.command("kubectl create -f groups.yaml -f pods.yaml")
        names = ("training-run", "stage-0", "stage-1")
        self._stage.outcome("created", "green", self._created(*names))
        pods = self._bound("stage-0", "stage-1")
        self._stage.command("kubectl get pods")
        self._stage.outcome("bound", "green", self._table(pods))
        self._tell_conditions("True", *names)

    def preemption(self) -> None:
        """A gang that is placed where pods of less priority leave."""
        self._stage.title("4  Preemption: an evaluation needs a rack, and two notebooks are in its way")
        self._stage.command("kubectl create -f evaluation.yaml")
        self._stage.outcome("created", "green", self._created("evaluation"))
        leaving = until("the eviction of the notebooks", self._leaving)
        self._stage.tell("The whole plan was rehearsed before anybody was evicted. The notebooks end in their own time:")
        self._stage.command("kubectl get pods notebook-0 notebook-1")
        lines = [
            f"pod/{each['metadata']['name']}: DisruptionTarget={found['status']} ({found['reason']}): {found['message']}"
            for each in leaving
            if (found := condition(each, "DisruptionTarget"))
        ]
        self._stage.outcome("evicted", "yellow", lines)
        for each in leaving:
            self._cluster.delete("v1", "Pod", each["metadata"]["name"], RESEARCH)
        pods = self._bound("evaluation")
        self._stage.tell("They have ended, as their kubelets would say:")
        self._stage.outcome("bound", "green", self._table(pods))
        self._tell_conditions("True", "evaluation")

    def invalid(self) -> None:
        """A tree that is wrong only as a whole, told and mended; and one for which there is no room."""
        self._stage.title("5  What no admission sees: a tree that is wrong as a whole, and one without room")
        self._stage.tell("A gang is one in the queue, and one of the pods of this one has another priority:")
        group, *pods = manifests(HERE / "labelling.yaml")
        self._groups["labelling"] = group
        self._pods += pods
        self._stage.command("kubectl create -f labelling.yaml")
        self._stage.outcome("created", "green", self._created("labelling"))
        self._tell_conditions("False", "labelling")
        self._stage.tell("Mended: the pod is deleted, and created again with the priority of its group.")
        odd = pods[-1]
        self._cluster.delete("v1", "Pod", odd["metadata"]["name"], RESEARCH)
        odd["spec"]["priorityClassName"] = group["spec"]["priorityClassName"]
        self._cluster.create(_ours(odd))
        self._bound("labelling")
        self._tell_conditions("True", "labelling")
        self._stage.tell("A sweep of four pods with four GPUs each, in one rack, for which nobody may be evicted:")
        self._stage.command("kubectl create -f sweep.yaml")
        self._stage.outcome("created", "green", self._created("sweep"))
        self._tell_conditions("False", "sweep")

    def _created(self, *names: str) -> list[str]:
        """Groups are created, and then their pods, whose scheduler is the sidecar; a line for each group."""
        lines = [self._cluster.create(self._groups[name]) for name in names]
        pods = [each for each in self._pods if each["spec"].get("schedulingGroup", {}).get("podGroupName") in names]
        for each in pods:
            self._cluster.create(_ours(each))
        return [*lines, f"and {len(pods)} pods"]

    def _bound(self, *groups: str) -> list[Object]:
        """The pods of these groups, once all have a node."""

        def look() -> list[Object]:
            pods = [each for each in self._cluster.list("v1", "Pod", RESEARCH) if _group_of(each) in groups]
            return pods if all(each["spec"].get("nodeName") for each in pods) else []

        found: list[Object] = until(f"a node for all pods of {' and '.join(groups)}", look)
        return found

    def _leaving(self) -> list[Object]:
        """The notebooks, once both are being deleted and say why."""
        found = [each for each in self._cluster.list("v1", "Pod", RESEARCH) if each["metadata"]["name"].startswith("notebook-")]
        told = all("deletionTimestamp" in each["metadata"] and condition(each, "DisruptionTarget") for each in found)
        return found if found and told else []

    def _table(self, pods: list[Object]) -> list[str]:
        labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in self._cluster.list("v1", "Node", "")}
        rows = [("NAME", "NODE", "RACK", "ZONE")]
        for each in pods:
            node = each["spec"]["nodeName"]
            rows.append((each["metadata"]["name"], node, labels[node][RACK], labels[node][ZONE]))
        return columns(rows)

    def _tell_conditions(self, status: str, *names: str) -> None:
        """The conditions "initially scheduled" of these groups, once they have that status."""
        lines = []
        for name in names:
            kind = self._groups[name]["kind"]
            found = until(f"the condition of {name}", lambda kind=kind, name=name: self._condition(kind, name, status))  # type: ignore[misc]
            message = f": {found['message']}" if found.get("message") else ""
            lines.append(f"{kind.lower()}/{name}: {found['type']}={status} ({found['reason']}){message}")
        self._stage.command(f"kubectl get {','.join(sorted({self._groups[name]['kind'].lower() for name in names}))} -o yaml")
        self._stage.outcome("conditions", "green" if status == "True" else "yellow", lines)

    def _condition(self, kind: str, name: str, status: str) -> dict[str, Any]:
        found = condition(self._cluster.get(GROUPS, kind, name, RESEARCH), _SCHEDULED[kind])
        return found if found.get("status") == status else {}


def _group_of(pod: Object) -> str:
    return str(pod["spec"].get("schedulingGroup", {}).get("podGroupName", ""))


def _ours(pod: Object) -> Object:
    """A pod for the sidecar to bind."""
    return {**pod, "spec": {**pod["spec"], "schedulerName": "muster"}}
