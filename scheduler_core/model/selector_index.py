"""Index of label selectors: of many, only those that can match an object are compared with it."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Mapping

from scheduler_core.model.selectors import Clauses


class SelectorIndex:
    """Selectors, numbered from 0 in the order in which they are added, by one namespace and label that they require."""

    def __init__(self) -> None:
        self._number = 0
        self._indexed: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
        """Numbers by namespace (empty for several), label and its value; the label is empty if none is required."""

    def add(self, clauses: Clauses | None, namespace: str = "") -> None:
        """Add the next selector; an empty *namespace* stands for several."""
        if clauses is not None:
            equal = [(namespace, each.key, value) for each in clauses if (value := each.only_value) is not None]
            # The label with which fewest selectors are found.
            min((self._indexed[each] for each in equal or [(namespace, "", "")]), key=len).append(self._number)
        self._number += 1

    def candidates(self, namespace: str, labels: Mapping[str, str], first: int = 0) -> list[int]:
        """Return the numbers from *first* on of the selectors that can match *labels* in *namespace*, ascending."""
        keys = ((each, *label) for label in {*labels.items(), ("", "")} for each in {namespace, ""})
        lists = (self._indexed[key] for key in keys if key in self._indexed)
        return sorted(number for listed in lists for number in listed[bisect.bisect_left(listed, first) :])
