"""Attributes of devices that some selector or constraint reads; devices that differ in others only are alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scheduler_core.cel.selector import CompileError, compile_selector
from scheduler_core.model.device_claims import DeviceObjects
from scheduler_core.model.devices import ClaimSpec

_ATTRIBUTES = "attributes"


class AttributesRead:
    """Attributes that the claims of a snapshot read."""

    def __init__(self, objects: DeviceObjects) -> None:
        specs = (*objects.templates.values(), *(claim.spec for claim in objects.claims.values()))
        paths = {path for each in specs if isinstance(each, ClaimSpec) for path in _paths(each)}
        paths |= {path for _, expressions in objects.resources.values() for each in expressions for path in _read(each)}
        self._paths = {path[1:] for path in paths if path[:1] in ((), (_ATTRIBUTES,))}

    def reads(self, driver: str, name: str) -> bool:
        """Return whether the attribute *name* of a device of *driver* is read."""
        domain, slash, own = name.rpartition("/")
        path = (domain if slash else driver, own)
        return any(path[:length] in self._paths for length in range(3))


def _paths(spec: ClaimSpec) -> Iterator[tuple[str, ...]]:
    for request in spec.requests:
        for each in request.alternatives:
            for expression in (*each.class_selectors, *each.selectors):
                yield from _read(expression)
    for constraint in spec.constraints:
        domain, _, own = constraint.attribute.partition("/")
        yield _ATTRIBUTES, domain, own


def _read(expression: str) -> Iterable[tuple[str, ...]]:
    try:
        return compile_selector(expression).attributes_read
    except CompileError:
        return ()
