"""A world with volumes: what the API server does with writes about them, and what the volume controllers and provisioners do."""

from __future__ import annotations

import copy
from typing import Any

from scheduler_core.sidecar.client.requests import SELECTED_NODE, field_manager
from scheduler_core.sidecar.writes import ClearSelectedNode, ReserveVolume, SelectNode, Write, WriteOutcome
from tests import builders
from tests.scheduler_core.sidecar.histories import Json
from tests.scheduler_core.sidecar.world import World

CLAIM, VOLUME = "PersistentVolumeClaim", "PersistentVolume"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
STATIC, DYNAMIC = "local", "dynamic"
HOSTNAME = "kubernetes.io/hostname"


def storage_classes() -> list[Json]:
    """A class of local volumes, and one whose volumes are provisioned."""
    provisioners = {STATIC: "kubernetes.io/no-provisioner", DYNAMIC: "csi.example.com"}
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer",
        }
        for name, provisioner in provisioners.items()
    ]


def claim(name: str, storage: str, size: str = "1Gi") -> Json:
    return builders.volume_claim(name, size, storage) | {"status": {"phase": "Pending"}}


def volume(name: str, storage: str, node: str, size: str = "1Gi") -> Json:
    return builders.persistent_volume(name, size, storage, nodes=[node], local={"path": "/"}) | {"status": {"phase": "Available"}}


def with_claims(pods: list[Json], storage: str) -> list[Json]:
    """The pods, each with a claim of its own, and the claims."""
    result = []
    for each in pods:
        name = f"data-{each['metadata']['name']}"
        each["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
        result += [each, claim(name, storage)]
    return result


def selected_by(manager: str) -> list[Json]:
    """The managed fields of a claim whose node *manager* selected."""
    fields = {"f:metadata": {"f:annotations": {".": {}, f"f:{SELECTED_NODE}": {}}}}
    return [{"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}]


class VolumeWorld(World):
    """A world whose provisioner creates no volume on the nodes in ``failing``, and none at all if it is not ``provisioning``."""

    failing: frozenset[str] = frozenset()
    provisioning = True

    def carry_out(self, write: Write) -> WriteOutcome:
        match write:
            case ReserveVolume(target=target, claim=reference):
                return self._reserve(self.find(target), write, reference.uid)
            case SelectNode(target=target) | ClearSelectedNode(target=target):
                return self._select(self.find(target), write)
            case _:
                outcome = super().carry_out(write)
                if type(write).__name__ == "Bind" and outcome is WriteOutcome.DONE:
                    self.check_bound(write.pod.name)  # type: ignore[union-attr]
                return outcome

    def check_bound(self, pod: str) -> None:
        """A pod is bound only when all volumes of its gang are."""
        group = self.server.objects["Pod", "default", pod]["spec"].get("schedulingGroup")
        for name, each in self.server.objects.items():
            if name[0] == "Pod" and (name[2] == pod or (group and each["spec"].get("schedulingGroup") == group)):
                for mounted in each["spec"].get("volumes") or ():
                    found = self.server.objects[CLAIM, "default", mounted["persistentVolumeClaim"]["claimName"]]
                    assert found["spec"].get("volumeName"), f"{pod} is bound before the volume of {name[2]}"

    def _reserve(self, found: Json | None, write: ReserveVolume, uid: str) -> WriteOutcome:
        if found is None:
            return WriteOutcome.GONE
        reference = found["spec"].get("claimRef") or {}
        if reference:
            return WriteOutcome.DONE if reference.get("uid") == uid else WriteOutcome.REFUSED
        each = copy.deepcopy(found)
        each["spec"]["claimRef"] = {"namespace": write.claim.namespace, "name": write.claim.name, "uid": uid}
        self.server.put(each)
        return WriteOutcome.DONE

    def _select(self, found: Json | None, write: SelectNode | ClearSelectedNode) -> WriteOutcome:
        if found is None:
            return WriteOutcome.GONE
        each = copy.deepcopy(found)
        annotations = each["metadata"].setdefault("annotations", {})
        selected = annotations.get(SELECTED_NODE)
        if each["spec"].get("volumeName"):
            return WriteOutcome.DONE
        if isinstance(write, ClearSelectedNode):
            if selected == write.node:
                del annotations[SELECTED_NODE]
                each["metadata"].pop("managedFields", None)
        elif selected not in (None, write.node):
            return WriteOutcome.REFUSED
        elif selected is None:
            annotations[SELECTED_NODE] = write.node
            each["metadata"]["managedFields"] = selected_by(field_manager(self.options.scheduler_name))
        self.server.put(each)
        return WriteOutcome.DONE

    def others(self) -> None:
        super().others()
        for name, each in list(self.server.objects.items()):
            if self.luck.chance.random() >= 0.3:
                continue
            if name[0] == VOLUME:
                self._bind_claim(each)
            elif name[0] == CLAIM and self.provisioning and not each["spec"].get("volumeName"):
                self._provision(each)

    def _bind_claim(self, found: Json) -> None:
        """The PersistentVolume controller completes a reservation."""
        reference = found["spec"].get("claimRef") or {}
        bound: Any = self.server.objects.get((CLAIM, reference.get("namespace", ""), reference.get("name", "")))
        if bound is None or bound["metadata"]["uid"] != reference.get("uid") or bound["spec"].get("volumeName"):
            return
        each = copy.deepcopy(bound)
        each["spec"]["volumeName"] = found["metadata"]["name"]
        each["metadata"].setdefault("annotations", {})[BIND_COMPLETED] = "yes"
        each["status"] = {"phase": "Bound"}
        self.server.put(each)

    def _provision(self, found: Json) -> None:
        node = (found["metadata"].get("annotations") or {}).get(SELECTED_NODE)
        if not node:
            return
        if node in self.failing:
            each = copy.deepcopy(found)
            del each["metadata"]["annotations"][SELECTED_NODE]
            self.server.put(each)
            return
        made = volume(f"pvc-{found['metadata']['uid']}", DYNAMIC, node)
        made["spec"]["claimRef"] = {key: found["metadata"][key] for key in ("namespace", "name", "uid")}
        if (VOLUME, "", made["metadata"]["name"]) not in self.server.objects:
            self.server.put(made)
