"""Attributes of devices that some selector or constraint reads; devices that differ in others only are alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scheduler_core.cel.selector import CompileError, compile_selector
from scheduler_core.model.device_claims import DeviceObjects
from scheduler_core.model.devices import ClaimSpec

_ATTRIBUTES = "attributes"


class AttributesRead:
    """Attributes that claims with *specs*, and the *classes* of extended resources with their selectors, read."""

    def __init__(self, specs: Iterable[ClaimSpec | str], classes: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        paths = {path for spec in {*specs} if isinstance(spec, ClaimSpec) for path in _paths(spec)}
        paths |= {path for _, expressions in classes for expression in expressions for path in _read(expression)}
        self._paths = {path[1:] for path in paths if path[:1] in ((), (_ATTRIBUTES,))}
        self._known: dict[tuple[str, str], bool] = {}

    @classmethod
    def of_objects(cls, objects: DeviceObjects) -> AttributesRead:
        """Return the attributes that the claims of a snapshot read."""
        specs = (*objects.templates.values(), *(claim.spec for claim in objects.claims.values()))
        return cls(specs, objects.resources.values())

    def same(self, other: AttributesRead) -> bool:
        """Return whether *other* reads the same attributes."""
        return self._paths == other._paths

    def reads(self, driver: str, name: str) -> bool:
        """Return whether the attribute *name* of a device of *driver* is read."""
        if (known := self._known.get((driver, name))) is None:
            domain, slash, own = name.rpartition("/")
            path = (domain if slash else driver, own)
            known = self._known[driver, name] = any(path[:length] in self._paths for length in range(3))
        return known


def _paths(spec: ClaimSpec) -> Iterator[tuple[str, ...]]:
    for request in spec.requests:
        for wanted in request.alternatives:
            for expression in (*wanted.class_selectors, *wanted.selectors):
                yield from _read(expression)
    for constraint in spec.constraints:
        domain, _, own = constraint.attribute.partition("/")
        yield _ATTRIBUTES, domain, own


def _read(expression: str) -> Iterable[tuple[str, ...]]:
    try:
        return compile_selector(expression).attributes_read
    except CompileError:
        return ()
