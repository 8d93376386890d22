"""Checks, one file each.  ``discover`` collects them from the modules of this package: there is no list to edit."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from muster.doctor.finding import Check, Result
from muster.doctor.world import World


@functools.cache
def discover() -> Mapping[str, Check]:
    """Return all checks by id, in order of id.  The id of a check is its module name with dashes."""
    checks: dict[str, Check] = {}
    for name in sorted(each.name for each in pkgutil.iter_modules(__path__)):
        module = importlib.import_module(f"{__name__}.{name}")
        check: Check = module.CHECK
        if check.id != name.replace("_", "-"):
            raise ValueError(f"check {check.id!r} is in {name}.py")
        checks[check.id] = dataclasses.replace(check, claim=" ".join((module.__doc__ or "").split()))
    return MappingProxyType(checks)


def examine(world: World) -> Iterator[tuple[Check, Result]]:
    """Yield the results of all checks, in order of their ids."""
    for check in discover().values():
        for result in check.examine(world):
            yield check, result
