"""Machines that ``--nodes`` can name: what pods can request on one node, with the source.

Only machines whose amounts are in public documentation are listed.  To add one, add its entry with address and date.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubeapi.base_structs import Record

INSTANCE_TYPE, ARCHITECTURE, SYSTEM = "node.kubernetes.io/instance-type", "kubernetes.io/arch", "kubernetes.io/os"


class MachineType(Record, frozen=True):
    """A machine as a node of a managed cluster.

    Attributes:
        allocatable: quantities by resource, what is reserved subtracted.
        note: how the amounts arise, for people.
        source: address of the page.
        as_of: date of the version of the page that was read, or on which it was read.
        labels: labels of its nodes.

    """

    allocatable: Mapping[str, str]
    note: str
    source: str
    as_of: str
    labels: Mapping[str, str]


_KARPENTER = "https://karpenter.sh/docs/reference/instance-types/"
_KARPENTER_NOTE = "allocatable as Karpenter 1.14 computes it for AL2023: what kubelet and system reserve is subtracted"
_GKE_NOTE = (
    "208 vCPUs and 1,872 GiB, minus what GKE reserves (https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes);"
    " the kernel takes some more memory"
)


def _on_eks(name: str, cpu: str, memory: str, pods: str, adapters: str) -> MachineType:
    amounts = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": adapters, "pods": pods}
    return MachineType(amounts, _KARPENTER_NOTE, _KARPENTER, "2026-07-11", {INSTANCE_TYPE: name, ARCHITECTURE: "amd64"})


MACHINE_TYPES: Mapping[str, MachineType] = {
    "a3-highgpu-8g": MachineType(
        # Reserved are 6, 1, 0.5, 0.5 % of the first four cores and 0.25 % of the others; 25 % of the first 4 GiB, 20 % of the next 4,
        # 10 % of the next 8, 6 % of the next 112 and 2 % of the rest, and 100 MiB for evictions.
        {"cpu": "207410m", "memory": "1871567Mi", "nvidia.com/gpu": "8", "pods": "110"},
        _GKE_NOTE,
        "https://cloud.google.com/compute/docs/accelerator-optimized-machines",
        "2026-11-29",
        {INSTANCE_TYPE: "a3-highgpu-8g", ARCHITECTURE: "amd64"},
    ),
    "p4d.24xlarge": _on_eks("p4d.24xlarge", "95690m", "1082712Mi", "737", "4"),
    "p5.48xlarge": _on_eks("p5.48xlarge", "191450m", "1938410Mi", "100", "32"),
    "p5en.48xlarge": _on_eks("p5en.48xlarge", "191450m", "1937332Mi", "198", "16"),
    "p6-b200.48xlarge": _on_eks("p6-b200.48xlarge", "191450m", "1937332Mi", "198", "8"),
}
"""Machines by the name that their cloud gives them, which is also the value of the label for instance types."""
