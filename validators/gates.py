"""Feature gates of the API server: names, dependencies, and a set of gates that are on or off.

Source: Kubernetes 1.37.1, ``pkg/features``; KEP-4671 for 1.35's WorkloadBasicPolicyDesiredCount.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

GENERIC_WORKLOAD = "GenericWorkload"
TOPOLOGY = "TopologyAwareWorkloadScheduling"
COMPOSITE = "CompositePodGroup"
PREEMPTION_POLICY = "PodGroupPreemptionPolicy"
CLAIMS = "DRAWorkloadResourceClaims"
WITH_JOB = "WorkloadWithJob"
DESIRED_COUNT = "WorkloadBasicPolicyDesiredCount"

NEEDS = {
    GENERIC_WORKLOAD: (),
    TOPOLOGY: (GENERIC_WORKLOAD,),
    COMPOSITE: (TOPOLOGY, GENERIC_WORKLOAD),
    PREEMPTION_POLICY: (GENERIC_WORKLOAD,),
    CLAIMS: (GENERIC_WORKLOAD,),
    WITH_JOB: (GENERIC_WORKLOAD,),
    DESIRED_COUNT: (GENERIC_WORKLOAD,),
}
"""The gates that each gate needs: if one of them is off, the API server does not start."""


class GateError(ValueError):
    """Unknown gate, or a combination of gates with which the API server does not start."""


@dataclasses.dataclass(frozen=True, slots=True)
class Gates:
    """Feature gates, all on but those in ``off``."""

    off: frozenset[str] = frozenset()

    @classmethod
    def from_switches(cls, switches: Iterable[tuple[str, bool]]) -> Gates:
        """Return the default gates after *switches*; if a gate is switched twice, the last switch is used.

        Raises:
            GateError: a gate is unknown, or is on while a gate that it needs is off.
        """
        explicit = dict(switches)
        for name in explicit.keys() - NEEDS.keys():
            raise GateError(f"there is no feature gate {name!r}; must be one of {', '.join(NEEDS)}")
        state = dict.fromkeys(NEEDS, True) | explicit
        for name, needed in NEEDS.items():
            missing = [each for each in needed if not state[each]]
            if missing and name == DESIRED_COUNT and name not in explicit:
                state[name] = False
            elif state[name] and missing:
                raise GateError(f"no API server starts with {name} on and {' and '.join(missing)} off: switch {name} off too")
        return cls(frozenset(name for name, on in state.items() if not on))

    def switched(self, switches: Mapping[str, bool]) -> Gates:
        """Return these gates after *switches*.  Raises GateError as ``from_switches`` does."""
        return Gates.from_switches([*dict.fromkeys(self.off, False).items(), *switches.items()])

    def enabled(self, name: str) -> bool:
        """Return whether the gate is on."""
        return name not in self.off
