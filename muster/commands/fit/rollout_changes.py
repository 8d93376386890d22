"""Changes with which an update that hangs may be finished: other values of its strategy, and further nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from expansion.rollouts.group_strategies import RollingGroups
from expansion.rollouts.strategies import Recreate, RollingDaemonSet, RollingDeployment, RollingStatefulSet, Strategy
from kubeapi.base_structs import replaced

_ALL = "100%"


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """Change of the object, or of the cluster.

    Attributes:
        field: field of the object's ``spec``, with its value; empty if nodes are added.
        value: the value.
        like: node of which further ones help.
        number: how many of them; fewer do not help.

    """

    field: str = ""
    value: str = ""
    like: str = ""
    number: int = 0


def alternatives(strategy: Strategy) -> list[tuple[Change, Strategy]]:
    """Return other values of the fields of a strategy, the least disruptive ones first."""
    match strategy:
        case RollingDeployment():
            return [*_of_deployment(strategy)]
        case RollingStatefulSet() if strategy.parallel and 0 < strategy.unavailable < len(strategy.wanted):
            change = Change("updateStrategy.rollingUpdate.maxUnavailable", _ALL)
            return [(change, replaced(strategy, unavailable=len(strategy.wanted)))]
        case RollingDaemonSet() if strategy.replaces:
            return [*_of_daemon_set(strategy)]
        case RollingGroups():
            return [*_of_groups(strategy)]
    return []


def _without_surge(unavailable: int | str) -> str:
    return f"{{maxSurge: 0, maxUnavailable: {unavailable}}}"


def _of_deployment(strategy: RollingDeployment) -> Iterator[tuple[Change, Strategy]]:
    number, rolling = len(strategy.wanted), "strategy.rollingUpdate"
    if strategy.surge < number:
        yield Change(f"{rolling}.maxSurge", _ALL), replaced(strategy, surge=number)
    if strategy.surge:
        some = max(1, strategy.unavailable)
        yield Change(rolling, _without_surge(some)), RollingDeployment(strategy.wanted, 0, some)
    yield Change("strategy", "{type: Recreate}"), Recreate(strategy.wanted)


def _of_daemon_set(strategy: RollingDaemonSet) -> Iterator[tuple[Change, Strategy]]:
    number, rolling = len(strategy.wanted), "updateStrategy.rollingUpdate"
    if strategy.surge:
        yield Change(rolling, _without_surge(1)), RollingDaemonSet(strategy.wanted)
    if strategy.unavailable < number and number > 1:
        yield Change(rolling, _without_surge(_ALL)), RollingDaemonSet(strategy.wanted, 0, number)


def _of_groups(strategy: RollingGroups) -> Iterator[tuple[Change, Strategy]]:
    number, rolling = len(strategy.wanted), "rolloutStrategy.rollingUpdateConfiguration"
    some = max(1, strategy.unavailable)
    if strategy.surge:
        yield Change(rolling, _without_surge(some)), replaced(strategy, surge=0, unavailable=some)
    if some < number:
        yield Change(rolling, _without_surge(_ALL)), replaced(strategy, surge=0, unavailable=number)
