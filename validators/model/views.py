"""Kinds of which rules read less than placement does: views of the structs of ``kubeapi``.

The schemas in ``validators/schemas`` have the same fields, so that a value that cannot be decoded is reported.  Required fields may be
absent here, which is a violation of a rule.  To type checkers, a view is the struct itself; a field that it does not have is an
AttributeError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubeapi import devices, jobs, jobset, nodes, pods, resource_claims
from kubeapi.meta import DatedName, Int64, ObjectMeta


class ListedAttribute(devices.DeviceAttribute, frozen=True, gc=False):
    """Attribute of a device, also with a list of values, which the feature gate DRAListTypeAttributes allows."""

    ints: tuple[Int64, ...] | None = None
    bools: tuple[bool, ...] | None = None
    strings: tuple[str, ...] | None = None
    versions: tuple[str, ...] | None = None


if TYPE_CHECKING:
    from kubeapi.devices import Device, DeviceCapacity, DeviceContent, DeviceTaint, ResourceSliceSpec
    from kubeapi.jobs import CronJob, Job, JobSpec
    from kubeapi.jobset import JobSet, JobSetSpec, ReplicatedJob
    from kubeapi.nodes import Node
    from kubeapi.pods import Container, Pod, PodSpec, PodTemplateSpec
    from kubeapi.resource_claims import DeviceClaim, DeviceRequest, DeviceSubRequest

    class DeviceClass(devices.DeviceClass, frozen=True):
        """See the struct: here it has whole metadata."""

        metadata: ObjectMeta

    class DeviceTaintRule(devices.DeviceTaintRule, frozen=True):
        """See the struct: here it has whole metadata."""

        metadata: ObjectMeta

    class ResourceClaim(resource_claims.ResourceClaim, frozen=True):
        """See the struct: here it has whole metadata."""

        metadata: ObjectMeta  # type: ignore[assignment]

    class ResourceClaimTemplate(resource_claims.ResourceClaimTemplate, frozen=True):
        """See the struct: here it has whole metadata."""

        metadata: ObjectMeta

    class ResourceSlice(devices.ResourceSlice, frozen=True):
        """See the struct: here it has whole metadata."""

        metadata: ObjectMeta

else:
    from kubeapi.view import Views

    _READ = {
        devices.DeviceClassSpec: ("selectors",),
        nodes.Node: ("metadata",),
        pods.Container: ("resources",),
        pods.Pod: ("metadata", "spec"),
        pods.PodSpec: (
            *("scheduling_group", "workload_ref", "scheduler_name", "priority_class_name", "priority", "preemption_policy"),
            *("node_name", "eviction_responders", "resource_claims", "containers", "init_containers", "scheduling_gates"),
        ),
        pods.ResourceRequirements: ("claims",),
        resource_claims.AllocationResult: (),
        resource_claims.DeviceSubRequest: ("name", "device_class_name", "selectors", "allocation_mode", "count", "tolerations", "capacity"),
        resource_claims.ResourceClaimStatus: ("allocation",),
    }
    """Fields that are read of structs that are not read whole."""
    _INSTEAD = {
        **dict.fromkeys((DatedName, pods.PodMeta, resource_claims.ResourceClaimMeta), ObjectMeta),
        devices.DeviceAttribute: ListedAttribute,
    }
    _view = Views(lambda struct, name: name in _READ.get(struct, (name,)), instead=_INSTEAD, optional=True).of_struct
    Device, DeviceCapacity, DeviceContent = map(_view, (devices.Device, devices.DeviceCapacity, devices.DeviceContent))
    DeviceClass, DeviceTaint, DeviceTaintRule = map(_view, (devices.DeviceClass, devices.DeviceTaint, devices.DeviceTaintRule))
    ResourceSlice, ResourceSliceSpec = map(_view, (devices.ResourceSlice, devices.ResourceSliceSpec))
    CronJob, Job, JobSpec, JobSet = map(_view, (jobs.CronJob, jobs.Job, jobs.JobSpec, jobset.JobSet))
    JobSetSpec, ReplicatedJob, Container = map(_view, (jobset.JobSetSpec, jobset.ReplicatedJob, pods.Container))
    Node, Pod, PodSpec, PodTemplateSpec = map(_view, (nodes.Node, pods.Pod, pods.PodSpec, pods.PodTemplateSpec))
    DeviceClaim, DeviceRequest = map(_view, (resource_claims.DeviceClaim, resource_claims.DeviceRequest))
    DeviceSubRequest, ResourceClaim = map(_view, (resource_claims.DeviceSubRequest, resource_claims.ResourceClaim))
    ResourceClaimTemplate = _view(resource_claims.ResourceClaimTemplate)

__all__ = [
    "Container",
    "CronJob",
    "Device",
    "DeviceCapacity",
    "DeviceClaim",
    "DeviceClass",
    "DeviceContent",
    "DeviceRequest",
    "DeviceSubRequest",
    "DeviceTaint",
    "DeviceTaintRule",
    "Job",
    "JobSet",
    "JobSetSpec",
    "JobSpec",
    "ListedAttribute",
    "Node",
    "Pod",
    "PodSpec",
    "PodTemplateSpec",
    "ReplicatedJob",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceSlice",
    "ResourceSliceSpec",
]
