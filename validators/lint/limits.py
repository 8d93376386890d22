"""Limits of files: a linter in CI reads untrusted input."""

from __future__ import annotations

LARGEST_FILE = 64 * 1024 * 1024
"""Bytes of a file.  The largest valid Workload has about 700 KB as YAML, so a file can have about ninety of that size."""

MOST_NODES = 2_000_000
"""Values in one document.  The values of an alias count at each use: a dozen nested aliases can mean 10^9 values."""

MOST_REPEATED = 2_000_000
"""Values that aliases repeat in one file: 300 bytes of a document can mean millions of values, and a file can have many such documents."""

REPEATED_TEXT = 64
"""Characters of an alias that count as one more value."""

DEEPEST = 200
"""Levels of nesting.  The deepest valid object, a Workload, has about twenty."""


class Repeats:
    """Count of the values that aliases repeat in the documents of one file."""

    __slots__ = ("count",)

    def __init__(self, count: int = 0) -> None:
        self.count = count
