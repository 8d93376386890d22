"""A world with devices: what the API server does with writes about claims, and what the resourceclaim controller and drivers do."""

from __future__ import annotations

import contextlib
import copy
import json
from collections import Counter
from typing import Any

from scheduler_core.cluster.load import load
from scheduler_core.model import selectors
from scheduler_core.sidecar.client import claim_status
from scheduler_core.sidecar.writer.claim_writer import ClaimWriter
from scheduler_core.sidecar.writes import AllocateClaim, AllocateExtended, Bind, DeleteExtended, ReleaseClaim, Write, WriteOutcome
from tests.scheduler_core.sidecar.claim_requests import MOST_REQUESTS, PATHS, ClaimRequests, LostResponseError
from tests.scheduler_core.sidecar.histories import Json
from tests.scheduler_core.sidecar.world import World

ClaimWrites = AllocateClaim | ReleaseClaim | AllocateExtended | DeleteExtended
CLAIM, TEMPLATE = "ResourceClaim", "ResourceClaimTemplate"
MOST_CONSUMERS = 256
NOW = "2026-08-02T00:00:00Z"


class DeviceWorld(World):
    """A world with the resourceclaim controller; a driver meets the binding conditions of devices unless they are in ``failing``."""

    controls = True
    """Whether the resourceclaim controller runs."""
    drives = True
    """Whether drivers report binding conditions."""
    killed_at = -1
    """Requests about claims until the process is killed; -1 for no kill."""
    requested = 0
    """Requests about claims so far."""
    refused = ""
    """Start of the names of claims and pods for which no devices are allocated; empty for none."""
    failing: frozenset[str] = frozenset()
    """Devices (``pool/device``) that report a failed binding."""

    def start(self) -> None:
        super().start()
        self.requests = ClaimRequests(self)
        self.writer = ClaimWriter(PATHS, self.requests, lambda: NOW)

    def carry_out(self, write: Write) -> WriteOutcome:
        if isinstance(write, AllocateClaim | AllocateExtended) and self.refused and write.target.name.startswith(self.refused):
            return WriteOutcome.REFUSED
        if isinstance(write, ClaimWrites):
            return self.writer.execute(write)[0]
        outcome = super().carry_out(write)
        if isinstance(write, Bind) and outcome is WriteOutcome.DONE:
            self.check_bound(write)
        return outcome

    def lose(self, write: Write) -> None:
        """Some requests of a write are carried out, and the response to the last one is lost."""
        if not isinstance(write, ClaimWrites):
            super().lose(write)
            return
        self.requests.until_lost = self.luck.chance.randint(0, MOST_REQUESTS)
        with contextlib.suppress(LostResponseError):
            self.carry_out(write)
        self.requests.until_lost = -1

    def check_claim(self, before: Json, after: Json) -> None:
        """What the API server demands of a change of a claim's status."""
        old, new = ((each.get("status") or {}) for each in (before, after))
        assert before["spec"] == after["spec"]
        assert not (old.get("allocation") and new.get("allocation")) or old["allocation"] == new["allocation"]
        assert new.get("allocation") or not new.get("reservedFor")
        uids = [each["uid"] for each in new.get("reservedFor") or ()]
        assert len(uids) == len(set(uids)) <= MOST_CONSUMERS
        assert claim_status.FINALIZER in after["metadata"].get("finalizers", []) or old.get("allocation") or not new.get("allocation")
        if allocation := new.get("allocation"):
            assert allocation["allocationTimestamp"]
            names = {each["name"] for each in after["spec"]["devices"]["requests"]}
            names |= {
                f"{each['name']}/{sub['name']}" for each in after["spec"]["devices"]["requests"] for sub in each.get("firstAvailable") or ()
            }
            assert names >= {each["request"] for each in allocation["devices"]["results"]}

    def check_devices(self) -> None:
        """No device is in two claims."""
        used: Counter[tuple[str, str, str]] = Counter()
        for claim in self.claims():
            for each in allocated(claim):
                used[each["driver"], each["pool"], each["device"]] += not each.get("adminAccess") and not each.get("shareID")
        assert [] == [device for device, count in used.items() if count > 1]

    def claims(self) -> list[Json]:
        return [each for name, each in self.server.objects.items() if name[0] == CLAIM]

    def check_bound(self, write: Bind) -> None:
        """A pod is bound only when all claims of its gang are allocated, on its node, and reserved."""
        group = self.server.objects["Pod", write.pod.namespace, write.pod.name]["spec"].get("schedulingGroup")
        assigned = {each.pod.name: each.node for each in self.binds_of(write)}
        nodes = load(each for name, each in self.server.objects.items() if name[0] == "Node").nodes
        for name, each in self.server.objects.items():
            if name[0] != "Pod" or not (name[2] == write.pod.name or (group and each["spec"].get("schedulingGroup") == group)):
                continue
            on = each["spec"].get("nodeName") or assigned.get(name[2])
            for claim in self.claims_of(each) if on else ():
                assert allocated(claim), f"{write.pod.name} is bound before {claim['metadata']['name']} is allocated"
                assert claim_status.FINALIZER in claim["metadata"].get("finalizers", []), f"{claim['metadata']['name']} can be deleted"
                users = {user["uid"] for user in claim["status"].get("reservedFor") or ()}
                uids = {each["metadata"]["uid"], self.group_uid(each)}
                assert users & uids, f"{claim['metadata']['name']} is not reserved for {name[2]}"
                if selector := claim["status"]["allocation"].get("nodeSelector"):
                    assert selectors.node_mask(to_selector(selector), nodes)[nodes.index[on]]

    def binds_of(self, write: Bind) -> list[Bind]:
        """The binds that were decided together with *write*."""
        for entity in self.scheduler._queue.entities.by_root.values():
            binding = entity.binding
            if binding is not None and write.pod in binding.binds:
                return [each for each in binding.binds.values() if isinstance(each, Bind)]
        return [write]

    def group_uid(self, pod: Json) -> str:
        group = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName", "")
        return self.server.objects.get(("PodGroup", pod["metadata"]["namespace"], group), {}).get("metadata", {}).get("uid", "none")

    def claims_of(self, pod: Json) -> list[Json]:
        created = {each["name"]: each.get("resourceClaimName") for each in pod.get("status", {}).get("resourceClaimStatuses") or ()}
        names = [each.get("resourceClaimName") or created.get(each["name"]) for each in pod["spec"].get("resourceClaims") or ()]
        if extended := pod.get("status", {}).get("extendedResourceClaimStatus"):
            names.append(extended["resourceClaimName"])
        return [self.server.objects[CLAIM, pod["metadata"]["namespace"], name] for name in names if name]

    def others(self) -> None:
        super().others()
        if self.controls and self.luck.chance.random() < 0.6:
            self.create_claims()
            self.remove_consumers()
        if self.drives and self.luck.chance.random() < 0.6:
            self.bind_devices()

    def create_claims(self) -> None:
        """Create the claims of pods and PodGroups from templates, and name them in their status."""
        for name, each in list(self.server.objects.items()):
            if name[0] not in ("Pod", "PodGroup") or "deletionTimestamp" in each["metadata"]:
                continue
            made: Any = copy.deepcopy(each)
            statuses = made.setdefault("status", {}).setdefault("resourceClaimStatuses", [])
            for entry in each["spec"].get("resourceClaims") or ():
                template = entry.get("resourceClaimTemplateName")
                if not template or any(status["name"] == entry["name"] for status in statuses):
                    continue
                if (created := self.of_group(each, entry["name"])) is None:
                    created = f"{name[2]}-{entry['name']}-{each['metadata']['uid'].rpartition('-')[2]}"
                    owner = {
                        "kind": name[0],
                        "name": name[2],
                        "uid": each["metadata"]["uid"],
                        "controller": True,
                        "apiVersion": each["apiVersion"],
                    }
                    metadata = {"name": created, "namespace": name[1], "ownerReferences": [owner]}
                    spec = self.server.objects[TEMPLATE, name[1], template]["spec"]["spec"]
                    self.server.put({"apiVersion": "resource.k8s.io/v1", "kind": CLAIM, "metadata": metadata, "spec": spec})
                if created:
                    statuses.append({"name": entry["name"], "resourceClaimName": created})
            if statuses != (each.get("status") or {}).get("resourceClaimStatuses", []):
                self.server.put(made)

    def of_group(self, pod: Json, entry: str) -> str | None:
        """The claim that was created for the group of a pod, empty if it is yet to be; None if the entry is the pod's own."""
        group = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName", "")
        found: Any = self.server.objects.get(("PodGroup", pod["metadata"]["namespace"], group)) if pod["kind"] == "Pod" else None
        if found is None or all(each["name"] != entry for each in found["spec"].get("resourceClaims") or ()):
            return None
        statuses = (found.get("status") or {}).get("resourceClaimStatuses") or ()
        return next((each["resourceClaimName"] for each in statuses if each["name"] == entry), "")

    def remove_consumers(self) -> None:
        """Reservations for pods and groups that are gone are removed; with the last, the claim is deallocated."""
        uids = {each["metadata"]["uid"] for each in self.server.objects.values()}
        for claim in self.claims():
            owners = claim["metadata"].get("ownerReferences") or ()
            reserved = (claim.get("status") or {}).get("reservedFor") or []
            kept = [each for each in reserved if each["uid"] in uids]
            if not kept and any(each["uid"] not in uids for each in owners):
                self.server.delete((CLAIM, claim["metadata"]["namespace"], claim["metadata"]["name"]))
            elif kept != reserved:
                changed = copy.deepcopy(claim)
                changed["status"] = {**claim["status"], "reservedFor": kept} if kept else {}
                self.server.put(changed)

    def bind_devices(self) -> None:
        """Drivers meet the binding conditions of devices, or report that they cannot."""
        for claim in self.claims():
            results = [each for each in allocated(claim) if each.get("bindingConditions")]
            if not results or (claim["status"].get("devices") or ()):
                continue
            changed = copy.deepcopy(claim)
            changed["status"]["devices"] = [
                {
                    **{key: each[key] for key in ("driver", "pool", "device")},
                    "conditions": [
                        {"type": type_, "status": "True"}
                        for type_ in each[
                            "bindingFailureConditions" if f"{each['pool']}/{each['device']}" in self.failing else "bindingConditions"
                        ]
                    ],
                }
                for each in results
            ]
            self.server.put(changed)


def allocated(claim: Json) -> list[Json]:
    """The devices of a claim."""
    return ((claim.get("status") or {}).get("allocation") or {}).get("devices", {}).get("results", [])


def to_selector(selector: Json) -> Any:
    import msgspec

    from kubeapi.selectors import NodeSelector

    return msgspec.json.decode(json.dumps(selector), type=NodeSelector)
