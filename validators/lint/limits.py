"""How much a file may hold before it is refused: a linter in CI reads what strangers write."""

from __future__ import annotations

LARGEST_FILE = 64 * 1024 * 1024
"""Bytes.  The largest legal Workload has about 700 KB as YAML, so a file holds some ninety of them."""

MOST_NODES = 2_000_000
"""Values in one document, those behind an alias counted at each use: a dozen aliases of aliases can stand for 10^9."""

DEEPEST = 200
"""Levels of nesting.  The deepest legal object, a Workload, has some twenty."""
