"""Last decision on each root, for /explain; limited in number because a decision names all pods of its root."""

from __future__ import annotations

import collections

from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name as Root

MAX_DECISIONS = 4096
"""Maximum number of decisions."""
MAX_PODS = 200_000
"""Maximum number of pods named by all decisions."""


class DecisionLog:
    """Last decisions; the oldest are removed first, but never the newest."""

    def __init__(self, max_decisions: int = MAX_DECISIONS, max_pods: int = MAX_PODS) -> None:
        self._most, self._most_pods = max_decisions, max_pods
        self._decisions: collections.OrderedDict[Root, Decision] = collections.OrderedDict()
        self._pods = 0

    def __len__(self) -> int:
        return len(self._decisions)

    def record(self, decision: Decision) -> None:
        """Record *decision* as the last one on its root."""
        self.forget(decision.root)
        self._decisions[decision.root] = decision
        self._pods += _pods(decision)
        while len(self) > 1 and (len(self) > self._most or self._pods > self._most_pods):
            self.forget(next(iter(self._decisions)))

    def get(self, root: Root) -> Decision | None:
        """Return the last decision on *root*; None if there is none or it was removed."""
        return self._decisions.get(root)

    def forget(self, root: Root) -> None:
        """Remove the decision on *root*."""
        decision = self._decisions.pop(root, None)
        if decision is not None:
            self._pods -= _pods(decision)


def _pods(decision: Decision) -> int:
    return len(decision.assignments) + len(decision.pending) + len(decision.victims)
