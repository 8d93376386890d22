"""File of ``--certificate``: proofs that roots have no placement, which can be checked independently of the search."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from scheduler_core.cycle.proofs import certificates
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.decision import Decision
from scheduler_core.model.snapshot import ClusterSnapshot

VERSION = 1


def write(path: str, snapshot: ClusterSnapshot, decisions: Sequence[Decision], options: CycleOptions) -> int:
    """Write the certificates to *path* and return the number of their roots.

    Raises:
        OSError: *path* cannot be written.

    """
    proofs = list(certificates(snapshot, decisions, options))
    Path(path).write_text(json.dumps({"version": VERSION, "certificates": proofs}, ensure_ascii=False) + "\n", encoding="utf-8")
    return len(proofs)
