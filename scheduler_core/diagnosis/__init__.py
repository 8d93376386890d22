"""Why something is not placed, in words that help: which group fails first, in which domain, short of what.

Reasons are counted, by node and by domain, never listed without end (KEP-4671, Failure Handling; KEP-6012, Status).
"""

from __future__ import annotations

from scheduler_core.diagnosis.explanation import Diagnosis, explain, leftovers

__all__ = ["Diagnosis", "explain", "leftovers"]
