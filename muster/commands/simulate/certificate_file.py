"""File of ``--certificate``: proofs that roots have no placement, which can be checked independently of the search."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scheduler_core.cycle.proofs import certificates
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.decision import Decision
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.wording.decision_words import proof_missing_words

VERSION = 1


def write(path: str, snapshot: ClusterSnapshot, decisions: Sequence[Decision], options: CycleOptions) -> int:
    """Write the certificates to *path* and return the number of their roots.

    Raises:
        OSError: *path* cannot be written.

    """
    proofs = [_worded(each) for each in certificates(snapshot, decisions, options)]
    Path(path).write_text(json.dumps({"version": VERSION, "certificates": proofs}, ensure_ascii=False) + "\n", encoding="utf-8")
    return len(proofs)


def _worded(certificate: dict[str, Any]) -> dict[str, Any]:
    """Return *certificate*; one without a proof has the reason in words."""
    return {**certificate, "reason": proof_missing_words(certificate["reason"])} if "reason" in certificate else certificate
