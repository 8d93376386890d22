"""A device has at most 32 attributes and capacities, with valid names; an attribute has one value, and versions are semantic versions."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from kubeapi.devices import DeviceAttribute
from kubeapi.field_path import FieldPath, Key
from kubeapi.versions.kubernetes_releases import Since
from validators import field
from validators.field import FieldError
from validators.model import slices
from validators.model.views import DeviceContent, ListedAttribute, ResourceSlice
from validators.rules import checks
from validators.rules.base import Context, Example, Rule

_DIGITS = Since(38, "numbers in versions have at most 18 digits")
_ONE_SLASH = Since(38, "a name with several slashes is refused")
_MOST, _MOST_VALUES = 32, 48
_LONGEST = 64
_CACHED = 4096
"""The same few names and values occur again and again."""
_LISTS = ("ints", "bools", "strings", "versions")


def _version(number: str) -> re.Pattern[str]:
    """Return the form of semantic versions whose numbers have the form *number*."""
    part = rf"(?:{number}|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
    return re.compile(rf"{number}\.{number}\.{number}(?:-{part}(?:\.{part})*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?", re.ASCII)


_ANY_VERSION, _SHORT_VERSION = _version(r"(?:0|[1-9]\d*)"), _version(r"(?:0|[1-9]\d{0,17})")
_TEXT = "must be a string compatible with semver.org spec 2.0.0"


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the device, at its attributes and capacities as a whole, which have the names, and at values."""
    if not isinstance(context.new, ResourceSlice):
        return
    minor = context.settings.minor
    for path, device in slices.judged_contents(context.new.spec):
        yield from _numbers(path, device)
        names: dict[str, Mapping[str, object]] = {"attributes": device.attributes or {}, "capacity": device.capacity or {}}
        for map_name, several in names.items():
            for name in several:
                if not _is_valid_name(name) and (name.count("/") < 2 or minor >= _ONE_SLASH):
                    yield from checks.qualified_name(path / map_name, name)
        for name, attribute in (device.attributes or {}).items():
            if not _is_valid(attribute, minor):
                yield from _attribute(path.join(("attributes", Key(name))), attribute, minor)


@functools.lru_cache(maxsize=_CACHED)
def _is_valid_name(name: str) -> bool:
    return not any(checks.qualified_name(FieldPath(), name))


@functools.lru_cache(maxsize=_CACHED)
def _is_valid(attribute: DeviceAttribute, minor: int) -> bool:
    return not any(_attribute(FieldPath(), attribute, minor))


def _numbers(path: FieldPath, device: DeviceContent) -> Iterator[FieldError]:
    attributes = device.attributes or {}
    if (count := len(attributes) + len(device.capacity or ())) > _MOST:
        yield field.invalid(path, count, f"the total number of attributes and capacities must not exceed {_MOST}")
    lists = [_lists(attribute) for attribute in attributes.values() if slices.is_list(attribute)]
    values = len(attributes) + sum(max(1, sum(map(len, each.values()))) - 1 for each in lists)
    if values > _MOST_VALUES:
        yield field.invalid(path, values, f"the total number of attribute values must not exceed {_MOST_VALUES}")


def _lists(attribute: DeviceAttribute) -> dict[str, tuple[object, ...]]:
    """Return the lists of an attribute, by field."""
    if not isinstance(attribute, ListedAttribute):
        return {}
    return {name: listed for name in _LISTS if (listed := getattr(attribute, name)) is not None}


def _attribute(path: FieldPath, attribute: DeviceAttribute, minor: int) -> Iterator[FieldError]:
    single = {"int": attribute.integer, "bool": attribute.boolean, "string": attribute.string, "version": attribute.version}
    lists = _lists(attribute)
    yield from checks.union(path, {**single, **{name: lists.get(name) for name in _LISTS}})
    strings = [(path / "string", attribute.string), *((path.join(("strings", i)), each) for i, each in enumerate(lists.get("strings", ())))]
    versions = [
        (path / "version", attribute.version),
        *((path.join(("versions", i)), each) for i, each in enumerate(lists.get("versions", ()))),
    ]
    for at, text in versions:
        if isinstance(text, str):
            yield from _version_errors(at, text, minor)
    for at, text in (*strings, *versions):
        if isinstance(text, str) and len(text.encode()) > _LONGEST:
            yield field.too_long(at, _LONGEST)


def _version_errors(path: FieldPath, version: str, minor: int) -> Iterator[FieldError]:
    limited = minor >= _DIGITS
    if (_SHORT_VERSION if limited else _ANY_VERSION).fullmatch(version) is None:
        yield field.invalid(path, version, f"{_TEXT}, with at most 18 digits in numbers" if limited else _TEXT)


_SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-gpu}
spec:
  driver: gpu.example.com
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  nodeName: n1
  devices:
  - name: gpu-0
    attributes:
      model: {string: A100}
      example.com/numa: {int: 0}
      firmware: {version: 5.1.0}
    capacity:
      memory: {value: 80Gi}
"""

RULE = Rule(
    id="slice-attributes",
    kinds=frozenset({"ResourceSlice"}),
    changes=(_DIGITS, _ONE_SLASH),
    why="The API server refuses other slices; selectors and constraints could not be evaluated.",
    source="Kubernetes 1.37.1 and 1.38.0-beta.0, validation of ResourceSlice",
    check=check,
    good=(Example(_SLICE), Example(_SLICE.replace("5.1.0", "1000000000000000000.0.0"))),
    bad=(
        Example(_SLICE.replace("5.1.0", "v5.1"), at=("spec.devices[0].attributes[firmware].version",)),
        Example(
            _SLICE.replace("5.1.0", "1000000000000000000.0.0"), at=("spec.devices[0].attributes[firmware].version",), kubernetes="1.38"
        ),
        Example(_SLICE.replace("{int: 0}", "{int: 0, string: zero}"), at=("spec.devices[0].attributes[example.com/numa]",)),
        Example(_SLICE.replace("model:", "gpu-model:"), at=("spec.devices[0].attributes",)),
        Example(_SLICE.replace("example.com/numa:", "example.com/gpu/numa:"), at=("spec.devices[0].attributes",), kubernetes="1.38"),
        Example(
            _SLICE.replace("    capacity:", "".join(f"      a{each}: {{bool: true}}\n" for each in range(29)) + "    capacity:"),
            at=("spec.devices[0]",),
        ),
    ),
)
