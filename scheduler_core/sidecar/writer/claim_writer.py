"""Writer of claims to devices: each write is several requests in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from scheduler_core.sidecar.client import claim_status, extended_claim, requests
from scheduler_core.sidecar.client.errors import outcome_from_object
from scheduler_core.sidecar.client.requests import ApiRequest, Paths
from scheduler_core.sidecar.writes import AllocateClaim, AllocateExtended, DeleteExtended, Ref, ReleaseClaim, Write, WriteOutcome


class Sender(Protocol):
    """Sends requests to the API server."""

    def send(self, request: ApiRequest) -> bytes:
        """Send one request and return the response."""

    def send_for_object(self, write: Write, request: ApiRequest) -> Any:
        """Return the object that the API server returns for *request*, parsed."""

    def get_object(self, write: Write, other: Ref | None = None) -> Any:
        """Return the target of *write*, or *other*, parsed; None if it does not exist."""


class ClaimWriter:
    """Sends the requests of writes to claims; errors are those of ``Executor.execute``.  *now* returns the time in RFC 3339."""

    def __init__(self, paths: Paths, sender: Sender, now: Callable[[], str]) -> None:
        self._paths, self._sender, self._now = paths, sender, now

    def execute(self, write: AllocateClaim | ReleaseClaim | AllocateExtended | DeleteExtended) -> tuple[WriteOutcome, str]:
        """Carry out *write* and return the outcome."""
        match write:
            case AllocateExtended():
                return self._allocate_extended(write)
            case DeleteExtended():
                return self._delete_extended(write)
            case _:
                return self._change_claim(write)

    def _change_claim(self, write: AllocateClaim | ReleaseClaim) -> tuple[WriteOutcome, str]:
        """Carry out a write to a ResourceClaim: read it, then change it only at that resourceVersion, its finalizer before its status."""
        content = self._sender.get_object(write)
        if (outcome := outcome_from_object(write, content)) is not None:
            return outcome
        if claim_status.needs_finalizer(write, content):
            wanted = (*(content["metadata"].get("finalizers") or ()), claim_status.FINALIZER)
            content = self._sender.send_for_object(write, requests.finalizers(write.target, content, wanted, self._paths))
        changed = claim_status.changed_claim(write, content, self._now())
        self._sender.send_for_object(write, requests.claim_status(write.target, changed, self._paths))
        return WriteOutcome.DONE, ""

    def _allocate_extended(self, write: AllocateExtended) -> tuple[WriteOutcome, str]:
        """Create the claim for extended resources of a pod unless it exists, allocate it, and name it in the status of the pod."""
        pod, target = self._sender.get_object(write), write.target
        if (outcome := outcome_from_object(write, pod)) is not None:
            return outcome
        allocation = AllocateClaim(Ref("ResourceClaim", target.namespace, write.claim), write.allocation, (target,), write.configurations)
        claim = self._sender.get_object(allocation)
        if claim is None:
            created = extended_claim.new_claim(write, self._paths.api_version("ResourceClaim"))
            self._sender.send_for_object(allocation, requests.create(allocation.target, created, self._paths))
        elif not extended_claim.is_usable(write, claim):
            return WriteOutcome.REFUSED, f"claim {target.namespace}/{write.claim} of an earlier attempt still exists"
        result = self._change_claim(allocation)
        if result[0] is WriteOutcome.DONE:
            self._sender.send(requests.pod_status(target, extended_claim.pod_status(write, pod), self._paths))
        return result

    def _delete_extended(self, write: DeleteExtended) -> tuple[WriteOutcome, str]:
        """Delete a claim for extended resources: its finalizer first, which protects a claim in use."""
        content, pod = self._sender.get_object(write), self._sender.get_object(write, write.pod)
        if (outcome := outcome_from_object(write, content)) is not None:
            return outcome
        if pod is not None and pod["metadata"].get("uid") == write.pod.uid and (pod.get("spec") or {}).get("nodeName"):
            return WriteOutcome.REFUSED, f"pod {write.pod.key} has a node"
        current = tuple(content["metadata"].get("finalizers") or ())
        if claim_status.FINALIZER in current:
            kept = tuple(each for each in current if each != claim_status.FINALIZER)
            self._sender.send(requests.finalizers(write.target, content, kept, self._paths))
        if not content["metadata"].get("deletionTimestamp"):
            self._sender.send(requests.delete(write.target, content["metadata"].get("uid", ""), self._paths))
        return WriteOutcome.DONE, ""
