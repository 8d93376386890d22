"""Names of Workloads and groups: those of the controllers of Kubernetes if the owner has a uid.

There, a Workload's name is that of its owner and a hash of the owner's uid, because a name can be reused after deletion.  A
group's name consists of its Workload, its template and a hash: in Kubernetes 1.37 of both names (Job controller), from 1.38 on of both
names and the owner's uid (k8s.io/component-helpers, ``GenerateWorkloadName`` and ``GeneratePodGroupName``).  Without a uid, for
example in files, names have no hash.

Kubernetes' scheme has one group for each template.  If a template has several groups, or can have them later, indices follow its name:
first those of the ancestors of which the same is true, then the group's own.

Labels of pods name PodGroups that are custom resources, whose names are therefore shorter.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable

from kubeapi.content import LONGEST_LABEL
from kubeapi.versions import served_versions
from kubeapi.versions.kubernetes_releases import FIRST_WITH_OWNER_IN_GROUP_NAMES, TODAY
from workloadbuilder.workload_item import Owner

LONGEST = 253
"""Longest DNS subdomain, in bytes."""

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Characters of a hash, without vowels, so that none spells a word (apimachinery, ``rand.SafeEncodeString``)."""
_SAFE = {str(digit): _ALPHABET[ord(str(digit)) % len(_ALPHABET)] for digit in range(10)}


def workload_name(owner: Owner) -> str:
    """Return the name of *owner*'s Workload.

    >>> workload_name(Owner("batch/v1", "Job", "job", uid="uid-1"))
    'job-647cf7d9'
    >>> workload_name(Owner("batch/v1", "Job", "job"))
    'job'
    """
    if not owner.uid:
        return owner.name
    # Kubernetes' DeepHashObject writes a value of the type types.UID in this form.
    suffix = digest(f"(types.UID){owner.uid}")
    return f"{_cut(owner.name, LONGEST - len(suffix) - 1)}-{suffix}" if owner.name else suffix


def distinct_workload_name(owner: Owner, namespace: str) -> str:
    """Return the name of *owner*'s Workload; without a uid, its hash is that of the identity of *owner*, which no other object has.

    >>> distinct_workload_name(Owner("batch/v1", "Job", "job"), "team")
    'job-c766c89dc'
    """
    identity = f"{owner.group}/{owner.kind}/{namespace or 'default'}/{owner.name}"
    return workload_name(owner if owner.uid else dataclasses.replace(owner, uid=identity))


def longest_group_name(api_version: str, *, composite: bool) -> int:
    """Return the maximum length of the name of a group of *api_version*, in bytes."""
    return LONGEST_LABEL if served_versions.form_of(api_version).custom and not composite else LONGEST


def group_name(
    workload: str, template: str, index: Iterable[int] = (), *, owner_uid: str, kubernetes: int = TODAY, longest: int = LONGEST
) -> str:
    """Return the name of a group of *template*; *index* distinguishes it from other groups of the same template.

    With *owner_uid*, the uid of the owner of the group, or if the plain name would be longer than *longest* bytes, it ends in the hash of Kubernetes
    1.*kubernetes*.

    >>> group_name("job-647cf7d9", "workers", owner_uid="uid-1")
    'job-647cf7d9-workers-6cf4cbb8fd'
    >>> group_name("job", "workers", (0, 3), owner_uid="")
    'job-workers-0-3'
    """
    indices = "".join([f"-{each}" for each in index])
    plain = f"{workload}-{template}{indices}"
    if not owner_uid and len(plain) <= longest:
        return plain
    of_owner = kubernetes >= FIRST_WITH_OWNER_IN_GROUP_NAMES
    suffix = digest(f"{workload}\0{template}{indices}\0{owner_uid}" if of_owner else f"{workload}{template}{indices}")
    first, second = _shortened(workload, f"{template}{indices}", longest - len(suffix) - 2)
    return f"{first}-{second}-{suffix}"


@functools.lru_cache(maxsize=4096)
def digest(text: str) -> str:
    """Return the 32-bit FNV-1a hash of *text* in UTF-8, in decimal, with each digit replaced by a letter of the safe alphabet."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return "".join([_SAFE[digit] for digit in str(value)])


def _shortened(first: str, second: str, length: int) -> tuple[str, str]:
    """Return both texts with *length* characters together: only the longer one is cut, or both if both exceed one half."""
    if len(first) + len(second) <= length:
        return first, second
    half = length // 2
    if len(first) <= half:
        return first, _cut(second, length - len(first))
    if len(second) <= half:
        return _cut(first, length - len(second)), second
    return _cut(first, length - half), _cut(second, half)


def _cut(text: str, length: int) -> str:
    # A dash after a dot is invalid in a name, so a dot at the end is removed.
    return text[:length].removesuffix(".")
