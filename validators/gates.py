"""Feature gates of the API server: names, dependencies, and a set of gates that are on or off.

Source: Kubernetes 1.37.1 and 1.38.0-beta.0, ``pkg/features``; KEP-4671 for 1.35's WorkloadBasicPolicyDesiredCount.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Mapping

from kubeapi.versions import kubernetes_releases
from kubeapi.versions.removed_gates import REMOVED

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
LAST_VERSIONS = {name: since - 1 for since, removed in sorted(REMOVED.items()) for name in NEEDS if name in removed}
"""The last minor version of Kubernetes that has a gate, where it was removed: later, what it guarded is always on."""


def names(minor: int = kubernetes_releases.TODAY) -> list[str]:
    """Return the gates with which an API server of Kubernetes 1.*minor* starts."""
    return [name for name in NEEDS if minor <= LAST_VERSIONS.get(name, minor)]


class GateError(ValueError):
    """Unknown gate, or a combination of gates with which the API server does not start."""


@dataclasses.dataclass(frozen=True, slots=True)
class Gates:
    """Feature gates, all on but those in ``off``."""

    off: frozenset[str] = frozenset()
    switches: tuple[tuple[str, bool], ...] = dataclasses.field(default=(), compare=False, repr=False)
    """The switches that were given."""

    @classmethod
    def from_switches(cls, switches: Iterable[tuple[str, bool]], minor: int | None = None) -> Gates:
        """Return the default gates of Kubernetes 1.*minor* after *switches*; if a gate is switched twice, the last switch is used.

        Without *minor*, the switches must be those of some version: ``of_version`` returns the gates of another one.

        Raises:
            GateError: the version does not have a gate, or a gate is on while a gate that it needs is off.
        """
        given = tuple(switches)
        if minor is not None:
            return cls._of_version(given, minor)
        try:
            return cls._of_version(given, kubernetes_releases.TODAY)
        except GateError:
            for each in kubernetes_releases.names().values():
                with contextlib.suppress(GateError):
                    return cls._of_version(given, each)
            raise

    def of_version(self, minor: int) -> Gates:
        """Return the gates of Kubernetes 1.*minor* after the same switches.  Raises GateError, see ``from_switches``."""
        return self._of_version(self.switches, minor) if self.switches else self

    @classmethod
    def _of_version(cls, switches: tuple[tuple[str, bool], ...], minor: int) -> Gates:
        explicit, known = dict(switches), names(minor)
        for name in sorted(explicit.keys() - set(known)):
            where = f" in Kubernetes {kubernetes_releases.name(minor)}" if name in NEEDS else ""
            raise GateError(f"there is no feature gate {name!r}{where}; must be one of {', '.join(known)}")
        state = dict.fromkeys(NEEDS, True) | explicit
        for name in known:
            missing = [each for each in NEEDS[name] if not state[each]]
            if missing and name == DESIRED_COUNT and name not in explicit:
                state[name] = False
            elif state[name] and missing:
                raise GateError(f"no API server starts with {name} on and {' and '.join(missing)} off: switch {name} off too")
        return cls(frozenset(name for name, on in state.items() if not on), switches)

    def switched(self, switches: Mapping[str, bool], minor: int | None = None) -> Gates:
        """Return these gates after *switches*, of Kubernetes 1.*minor*.  Raises GateError as ``from_switches`` does."""
        return Gates.from_switches([*dict.fromkeys(self.off, False).items(), *switches.items()], minor)

    def enabled(self, name: str) -> bool:
        """Return whether the gate is on."""
        return name not in self.off


ALL_ON = Gates()
"""All gates on."""
