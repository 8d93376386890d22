"""Problem: an input object that cannot be used, or not in full."""

from __future__ import annotations

import dataclasses

ATTRIBUTE = "attribute "
"""Beginning of ``object`` for an attribute of ``--device-topology`` that no device has."""
IN_NO_DOMAIN = "the node is in no domain of this level"
"""End of the message about a node whose devices have several values of such an attribute."""


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """Input object that cannot be used, or not in full, with the consequence."""

    object: str
    """``Kind name`` or ``Kind namespace/name``."""
    message: str
