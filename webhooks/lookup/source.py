"""Where the workers of the webhook server look other objects up."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

from validators.lookup import Lookup


class Source(Protocol):
    """Where the workers' Lookup comes from."""

    def start(self) -> Lookup:
        """Return the lookup of this worker; called once in each, after the fork, when threads may be started."""

    def unsynced(self) -> Sequence[str]:
        """Return the reasons why the lookup does not know all that it should yet."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fixed:
    """A Source whose lookup was made before the fork and needs no care."""

    lookup: Lookup

    def start(self) -> Lookup:
        """See Source."""
        return self.lookup

    def unsynced(self) -> Sequence[str]:
        """See Source."""
        return ()
