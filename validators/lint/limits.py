"""Limits of files: a linter in CI reads untrusted input."""

from __future__ import annotations

LARGEST_FILE = 64 * 1024 * 1024
"""Bytes of a file.  The largest valid Workload has about 700 KB as YAML, so a file can have about ninety of that size."""

MOST_NODES = 2_000_000
"""Values in one document.  The values of an alias count at each use: a dozen nested aliases can mean 10^9 values."""

DEEPEST = 200
"""Levels of nesting.  The deepest valid object, a Workload, has about twenty."""
