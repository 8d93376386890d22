"""Semantic versions 2.0.0 (blang/semver 4; Kubernetes 1.37.1, ``apiserver/pkg/cel/library/semverlib.go``)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from scheduler_core.cel.values import MAX_UINT, Extension, Fault, Value

_ALPHANUMERIC = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789")
_NUMERIC = frozenset("0123456789")


@dataclass(frozen=True, slots=True, eq=False)
class Semver(Extension):
    """A version; its build does not count when versions are compared."""

    TYPE = "kubernetes.Semver"
    UNHASHABLE = "cel.Semver"
    numbers: tuple[int, int, int]
    prerelease: tuple[int | str, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.order() == other.order()

    def __hash__(self) -> int:
        return hash(self.order())

    def order(self) -> tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...]]:
        """Return a key that orders versions: numbers come before text, and a release after its prereleases."""
        parts = tuple((isinstance(each, str), each if isinstance(each, int) else 0, str(each)) for each in self.prerelease)
        return self.numbers, not self.prerelease, tuple((text, number, name if text else "") for text, number, name in parts)


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> Semver:
    """Return the version in *text*.

    Raises:
        Fault: it is not a semantic version.
    """
    if not text:
        raise Fault("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise Fault("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    numbers = [_number(part, name) for part, name in zip((parts[0], parts[1], patch), ("major", "minor", "patch"), strict=True)]
    released = tuple(map(_prerelease, prerelease.split("."))) if dash else ()
    for each in build.split(".") if plus else ():
        if not each:
            raise Fault("Build meta data is empty")
        if not _ALPHANUMERIC.issuperset(each):
            raise Fault(f'Invalid character(s) found in build meta data "{each}"')
    return Semver((numbers[0], numbers[1], numbers[2]), released)


def _number(text: str, name: str) -> int:
    if not text or not _NUMERIC.issuperset(text):
        raise Fault(f'Invalid character(s) found in {name} number "{text}"')
    if len(text) > 1 and text[0] == "0":
        raise Fault(f'{name.capitalize()} number must not contain leading zeroes "{text}"')
    if len(text) > 20 or int(text) > MAX_UINT:
        raise Fault(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def _prerelease(text: str) -> int | str:
    if not text:
        raise Fault("Prerelease is empty")
    if _NUMERIC.issuperset(text):
        if len(text) > 1 and text[0] == "0":
            raise Fault(f'Numeric PreRelease version must not contain leading zeroes "{text}"')
        if len(text) > 20 or int(text) > MAX_UINT:
            raise Fault(f'strconv.ParseUint: parsing "{text}": value out of range')
        return int(text)
    if not _ALPHANUMERIC.issuperset(text):
        raise Fault(f'Invalid character(s) found in prerelease "{text}"')
    return text


def _normalized(text: str) -> str:
    """Return a version with its missing parts, without a leading v and leading zeros."""
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[index] = stripped if stripped and stripped[0] in _NUMERIC else f"0{stripped}"
    if len(parts) < 3:
        if {"+", "-"} & set(parts[-1]):
            raise Fault("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _to_semver(text: str, normalize: bool = False) -> Semver:  # noqa: FBT001, FBT002 - an argument of the expression
    return parse(_normalized(text) if normalize else text)


def _is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002 - an argument of the expression
    try:
        _to_semver(text, normalize)
    except Fault:
        return False
    return True


def _compare(left: Semver, right: Semver) -> int:
    return (left.order() > right.order()) - (left.order() < right.order())


def _signed(number: int) -> int:
    """Return the 64 bits of an unsigned number as a signed one, as Go converts them."""
    return number - 2**64 if number >= 2**63 else number


OVERLOADS: dict[str, Callable[..., Value]] = {
    "string_to_semver": _to_semver,
    "string_bool_to_semver": _to_semver,
    "is_semver_string": _is_semver,
    "is_semver_string_bool": _is_semver,
    "semver_is_greater_than": lambda left, right: _compare(left, right) > 0,
    "semver_is_less_than": lambda left, right: _compare(left, right) < 0,
    "semver_compare_to": _compare,
    "semver_major": lambda version: _signed(version.numbers[0]),
    "semver_minor": lambda version: _signed(version.numbers[1]),
    "semver_patch": lambda version: _signed(version.numbers[2]),
}
