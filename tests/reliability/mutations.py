"""Mutations of JSON values and of bytes, by a random generator, so that the same seed gives the same mutations."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any

ODD_TEXTS = (
    *(
        "",
        " ",
        "a" * 300,
        "é",
        "\x00",
        "\x1b[2J",
        "\n::error::x",
        "\u202e",
        "a/b",
        "A",
        "-",
        "*",
        "0",
        "1",
        "-1",
        "1e400",
        "1Ei",
        "100m",
        "null",
    ),
    *(
        "true",
        "default",
        "kube-system",
        "v1",
        "v1alpha3",
        "scheduling.k8s.io/v1alpha2",
        "scheduling.k8s.io/v1beta1",
        "In",
        "Exists",
        "{{ x }}",
    ),
    *("metadata.name", "2026-11-20T19:18:20Z", "topology.kubernetes.io/zone", "../..", "muster.dev/placement", "%s", "\ud800"),
)
ODD_VALUES = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        1.5,
        1e308,
        -0.0,
        2**31 - 1,
        2**31,
        2**63,
        -(2**63),
        10**40,
        [],
        {},
        [None],
        [[]],
        {"": None},
        [{}] * 20,
    ),
    *(
        {"name": "a"},
        [{"name": "a"}, {"name": "a"}],
        {"matchLabels": {"a": "b"}},
        {"gang": {"minCount": 0}},
        {"basic": {}, "gang": {"minCount": 1}},
    ),
)
ODD_BYTES = (
    *(b"\xff", b"\x00", b"\xc3", b"\xef\xbb\xbf", rb"\ud800", rb"\u0000", b"1e400", b"-0", b"NaN", b"9" * 400, b"{", b"}", b"[", b"]", b'"', b",", b":"),
    *(b"[" * 300, b'{"a":' * 300, b"{}", b"null", b"&a ", b"*a", b"<<: *a\n", b"---\n", b"- ", b"? ", b"!!binary ", b"|\n", b">-\n", b"#", b"\t", b"\r", b"%"),
    *(b'"uid":"other",', b'"kind":1,', b'"name":"a","name":"b",', b"{{ .Values.x }}", b"\xe2\x80\xa8", b"0x10", b"1_000", b"2001-01-01", b"~", b"=", b"\n  "),
)  # fmt: skip
DEEP = 400
"""Levels of a value that is nested deeply; Python's limit of recursion is 1,000."""


class Mutator:
    """Source of mutations; *pool* has values of which parts replace other parts."""

    def __init__(self, seed: int, pool: Sequence[Any] = ()) -> None:
        self.random = random.Random(seed)
        self._pool = pool

    def value(self, given: Any) -> Any:
        """Return a copy of a JSON value with one to four changes; the given value stays as it is.

        A value that is nested too deeply for a copy, because it was changed before, is returned.
        """
        try:
            given = copy.deepcopy(given)
        except RecursionError:
            return given
        for _ in range(self.random.randint(1, 4)):
            given = self._changed(given)
        return given

    def data(self, given: bytes) -> bytes:
        """Return bytes with one to three changes."""
        for _ in range(self.random.randint(1, 3)):
            given = self._damaged(given)
        return given

    def text(self, given: str) -> str:
        """Return text with one to three changes of the same kind as those of bytes."""
        return self.data(given.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")

    def _changed(self, root: Any) -> Any:
        """Change one place, which can be the whole value."""
        holder: Any = None
        step: Any = None
        inner = root
        while isinstance(inner, dict | list) and inner and self.random.random() < 0.85:
            holder, step = inner, self.random.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
            inner = holder[step]
        if holder is None:
            return root if self.random.random() < 0.8 else self._other(inner)
        match self.random.randrange(8):
            case 0:
                del holder[step]
            case 1 if isinstance(holder, dict):
                holder[self.random.choice(ODD_TEXTS) if self.random.random() < 0.3 else self._name()] = holder.pop(step)
            case 2 if isinstance(holder, list):
                holder.extend([inner] * self.random.choice((1, 1, 2, 20)))
            case 3:
                holder[step] = copy.deepcopy(self._part(self.random.choice(self._pool))) if self._pool else None
            case _:
                holder[step] = self._other(inner)
        return root

    def _other(self, given: Any) -> Any:
        """Return a value in place of *given*: near to it, or of another type."""
        chance = self.random.random()
        if chance < 0.3 and isinstance(given, str):
            return self.text(given)
        if chance < 0.3 and isinstance(given, int):
            return given + self.random.choice((-1, 1, 1000, -given, 2**31))
        if chance < 0.6:
            return self.random.choice(ODD_TEXTS)
        if chance < 0.9:
            return copy.deepcopy(self.random.choice(ODD_VALUES))
        if chance < 0.98:
            return self.random.choice(([given], {"a": given}, str(given)[:50], {"spec": given}))
        for _ in range(DEEP):
            given = [given] if chance < 0.99 else {"a": given}
        return given

    def _name(self) -> str:
        """Return a name of a field that is used somewhere else."""
        part = self._part(self.random.choice(self._pool)) if self._pool else {}
        return self.random.choice(list(part)) if isinstance(part, dict) and part else "name"

    def _part(self, inner: Any) -> Any:
        while isinstance(inner, dict | list) and inner and self.random.random() < 0.75:
            inner = self.random.choice(list(inner.values()) if isinstance(inner, dict) else inner)
        return inner

    def _damaged(self, given: bytes) -> bytes:
        first, second = sorted((self.random.randint(0, len(given)), self.random.randint(0, len(given))))
        near = min(second, first + self.random.randint(1, 8))
        match self.random.randrange(8):
            case 0:
                return given[:first] + bytes([self.random.randrange(256)]) + given[first + 1 :]
            case 1:
                return given[:first] + given[near:]
            case 2:
                return given[:first]
            case 3:
                return given[:second] + given[first : first + 2000] + given[second:]
            case 4:
                return given[:first] + given[second:] + given[first:second]
            case _:
                return given[:first] + self.random.choice(ODD_BYTES) + given[self.random.choice((first, near)) :]
