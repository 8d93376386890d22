"""Options of a control plane: feature gates, served versions, admission plugins, further flags."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kubeapi.versions.removed_gates import refused_gates

ALL_GATES: Mapping[str, bool] = dict.fromkeys(
    (
        "GenericWorkload",
        "TopologyAwareWorkloadScheduling",
        "CompositePodGroup",
        "PodGroupPreemptionPolicy",
        "DRAWorkloadResourceClaims",
        "WorkloadWithJob",
    ),
    True,
)
NO_GATES: Mapping[str, bool] = {}
SERVED = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3")
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
        gone = {name for name, _ in refused_gates(self.gates, minor)}
        named = ",".join(f"{name}={str(on).lower()}" for name, on in self.gates.items() if name not in gone)
        return [f"--feature-gates={named}"] if named else []

    def flags(self, minor: int) -> list[str]:
        """Return the flags of kube-apiserver 1.*minor*."""
        disabled = ",".join(self.disabled_plugins)
        served = f"--runtime-config={','.join(f'{each}=true' for each in self.served)}"
        return [*([f"--disable-admission-plugins={disabled}"] if disabled else []), served, *self.gate_flags(minor), *self.apiserver_flags]
