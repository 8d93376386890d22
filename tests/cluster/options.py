"""Options of a control plane: feature gates, served versions, admission plugins, further flags.

The same options start each version of Kubernetes: gates and API versions that it does not have are left out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kubeapi.versions.api_versions import SCHEDULING, STABLE
from kubeapi.versions.kubernetes_releases import NEWEST
from kubeapi.versions.served_versions import current, versions_in

GATES = {
    "GenericWorkload": (35, NEWEST),
    "GangScheduling": (35, 36),
    "WorkloadAwarePreemption": (36, 36),
    "TopologyAwareWorkloadScheduling": (36, NEWEST),
    "DRAWorkloadResourceClaims": (36, NEWEST),
    "WorkloadWithJob": (36, NEWEST),
    "CompositePodGroup": (37, NEWEST),
    "PodGroupPreemptionPolicy": (37, 37),
}
"""Gates with the first and the last minor version that has them: a program does not start with a gate that it does not know."""
ALL_GATES: Mapping[str, bool] = dict.fromkeys(GATES, True)
NO_GATES: Mapping[str, bool] = {}
SERVED = tuple(each.name for each in versions_in(SCHEDULING) if each.stage != STABLE)
WITHOUT_CONTROLLERS = ("ServiceAccount", "TaintNodesByCondition")
"""Admission plugins that wait for controllers: without those no pod could be created, and no node used."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a control plane."""

    gates: Mapping[str, bool] = dataclasses.field(default_factory=lambda: dict(ALL_GATES))
    served: tuple[str, ...] = SERVED
    disabled_plugins: tuple[str, ...] = WITHOUT_CONTROLLERS
    apiserver_flags: tuple[str, ...] = ()

    def gate_flags(self, minor: int) -> list[str]:
        """Return ``--feature-gates`` with the gates that Kubernetes 1.*minor* has, where any is named."""
        unknown = {name for name, (first, last) in GATES.items() if not first <= minor <= last}
        named = ",".join(f"{name}={str(on).lower()}" for name, on in self.gates.items() if name not in unknown)
        return [f"--feature-gates={named}"] if named else []

    def flags(self, minor: int) -> list[str]:
        """Return the flags of kube-apiserver 1.*minor*."""
        disabled = ",".join(self.disabled_plugins)
        unknown = {*SERVED} - {each.name for each in current("Workload", SCHEDULING, minor)}
        served = f"--runtime-config={','.join(f'{each}=true' for each in self.served if each not in unknown)}"
        return [*([f"--disable-admission-plugins={disabled}"] if disabled else []), served, *self.gate_flags(minor), *self.apiserver_flags]
