"""Sources of the Lookup that each worker of the webhook server uses."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

from validators.object_lookup import Lookup


class Source(Protocol):
    """Source of a worker's Lookup."""

    def start(self) -> Lookup:
        """Return the lookup of this worker; called once in each worker, after the fork, so that it may start threads."""

    def unsynced(self) -> Sequence[str]:
        """Return the reasons why the lookup is not complete yet; none if it is."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fixed:
    """Source of a lookup that was made before the fork and does not change."""

    lookup: Lookup

    def start(self) -> Lookup:
        """See Source."""
        return self.lookup

    def unsynced(self) -> Sequence[str]:
        """See Source."""
        return ()
