"""Options of a control plane: feature gates, served versions, admission plugins, further flags."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping

from muster.commands.demo import child_processes
from tests.cluster import programs
from validators import gates

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


@functools.cache
def _minor() -> int:
    """Return the minor version of the API server of the tests."""
    return child_processes.minor_version(programs.find().path("kube-apiserver"))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a control plane."""

    gates: Mapping[str, bool] = dataclasses.field(default_factory=lambda: dict(ALL_GATES))
    served: tuple[str, ...] = SERVED
    disabled_plugins: tuple[str, ...] = WITHOUT_CONTROLLERS
    apiserver_flags: tuple[str, ...] = ()

    def gate_flags(self) -> list[str]:
        """``--feature-gates``, where any is named: without those that the API server no longer has, with which it does not start."""
        gone = gates.NEEDS.keys() - gates.names(_minor())
        named = ",".join(f"{name}={str(on).lower()}" for name, on in self.gates.items() if name not in gone)
        return [f"--feature-gates={named}"] if named else []

    def flags(self) -> list[str]:
        """Return the flags of kube-apiserver."""
        disabled = ",".join(self.disabled_plugins)
        served = f"--runtime-config={','.join(f'{each}=true' for each in self.served)}"
        return [*([f"--disable-admission-plugins={disabled}"] if disabled else []), served, *self.gate_flags(), *self.apiserver_flags]
