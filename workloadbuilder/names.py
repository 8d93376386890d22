"""What Workloads and groups are called: the names that Kubernetes 1.38's workloadbuilder gives, where the owner has a uid.

There a Workload is called after its owner and a hash of the owner's uid, since a name may be used again after deletion,
and a group after its Workload, its template and a hash of both (k8s.io/component-helpers, ``GenerateWorkloadName`` and
``GeneratePodGroupName``).  Where no uid is known, in files for example, names have no hash.

Several groups of one template, which Kubernetes' own scheme does not know, have their places behind the template's name:
that among the template's groups, and before it those of the groups above that are several.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from workloadbuilder.item import Owner

LONGEST = 253
"""Bytes of a DNS subdomain."""

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Without vowels, so that no hash spells a word (apimachinery, ``rand.SafeEncodeString``)."""
_SAFE = {str(digit): _ALPHABET[ord(str(digit)) % len(_ALPHABET)] for digit in range(10)}


def workload_name(owner: Owner) -> str:
    """The name of *owner*'s Workload.

    >>> workload_name(Owner("batch/v1", "Job", "job", uid="uid-1"))
    'job-647cf7d9'
    >>> workload_name(Owner("batch/v1", "Job", "job"))
    'job'
    """
    if not owner.uid:
        return owner.name
    # The form in which Kubernetes' DeepHashObject dumps a value of the type types.UID.
    tail = digest(f"(types.UID){owner.uid}")
    return f"{_cut(owner.name, LONGEST - len(tail) - 1)}-{tail}" if owner.name else tail


def group_name(workload: str, template: str, index: Iterable[int] = (), *, hashed: bool) -> str:
    """The name of a group made from *template*; *index* tells it from others that are made from the same.

    With *hashed*, and wherever the plain name would be too long, a hash of both names stands at the end.

    >>> group_name("job-647cf7d9", "workers", hashed=True)
    'job-647cf7d9-workers-6cf4cbb8fd'
    >>> group_name("job", "workers", (0, 3), hashed=False)
    'job-workers-0-3'
    """
    places = "".join([f"-{place}" for place in index])
    plain = f"{workload}-{template}{places}"
    if not hashed and len(plain) <= LONGEST:
        return plain
    tail = digest(f"{workload}{template}{places}")
    above, below = _share(workload, f"{template}{places}", LONGEST - len(tail) - 2)
    return f"{above}-{below}-{tail}"


@functools.lru_cache(maxsize=4096)
def digest(text: str) -> str:
    """FNV-1a of 32 bits of *text* as UTF-8, in decimal, each digit replaced by a safe letter."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return "".join([_SAFE[digit] for digit in str(value)])


def _share(above: str, below: str, room: int) -> tuple[str, str]:
    """Both texts, cut so that together they have *room*: the longer one first, both where each has more than half."""
    if len(above) + len(below) <= room:
        return above, below
    half = room // 2
    if len(above) <= half:
        return above, _cut(below, room - len(above))
    if len(below) <= half:
        return _cut(above, room - len(below)), below
    return _cut(above, room - half), _cut(below, half)


def _cut(text: str, length: int) -> str:
    # A dash behind a dot makes no legal name: where the cut falls behind one, it goes too.
    return text[:length].removesuffix(".")
