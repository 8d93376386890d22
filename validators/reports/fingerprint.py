"""Fingerprints of findings that stay when lines move: for code scanning services."""

from __future__ import annotations

import hashlib
import json

from validators.lint.finding import Finding


class Fingerprints:
    """Fingerprints of the findings of one report, in order.  Findings that are equal but for their lines get a counter."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def next(self, finding: Finding) -> str:
        """Return the fingerprint of *finding*: 32 hexadecimal digits."""
        key = json.dumps([finding.rule, finding.file, finding.field, str(finding.document or "")])
        self._seen[key] = self._seen.get(key, 0) + 1
        return hashlib.sha256(f"{key}:{self._seen[key]}".encode()).hexdigest()[:32]
