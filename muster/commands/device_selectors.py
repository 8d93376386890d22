"""Compiler of device selectors for the linter: that of ``scheduler_core.cel``, which needs the extra ``simulate``."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubeapi import quantity
from kubeapi.devices import DeviceAttribute
from muster import extras
from validators.model import views
from validators.rules.base import DeviceSelectors

if TYPE_CHECKING:
    from scheduler_core.cel.selector import AttributeValue, Device


class CompiledSelectors:
    """Selectors, compiled when the first object with one is validated."""

    def compile_error(self, expression: str) -> str:
        """Return the error of the API server for a new object with *expression*; empty if it is valid."""
        from scheduler_core.cel.selector import creation_error

        # The other lines repeat the expression and mark the column, which the message has too.
        return "; ".join(line for line in creation_error(expression).splitlines() if not line.startswith(" | "))

    def evaluation_error(self, expressions: Sequence[str], slices: Sequence[views.ResourceSlice]) -> str:
        """Return the error of the first device of *slices* for which one of *expressions* cannot be evaluated; empty if there is none.

        The expressions are evaluated in order, up to the first that does not match.
        """
        from scheduler_core.cel.selector import CompileError, EvaluationError, compile_selector

        try:
            compiled = [compile_selector(each) for each in expressions]
        except CompileError:
            return ""
        for each in sorted(slices, key=lambda each: each.metadata.name):
            for device in each.spec.devices or ():
                try:
                    readable = _device(each.spec.driver, device.content)
                    all(selector.evaluate(readable) for selector in compiled)
                except EvaluationError as error:
                    return f"{error} (device {each.spec.pool.name}/{device.name})"
                except ValueError:
                    continue  # a quantity that cannot be read
        return ""

    def matching(self, expressions: Sequence[str], published: views.ResourceSlice) -> list[views.Device]:
        """Return the devices of *published* that match all *expressions*; none if one cannot be evaluated for a device."""
        from scheduler_core.cel.selector import SelectorError, compile_selector

        try:
            compiled = [compile_selector(each) for each in expressions]
            devices = [(each, _device(published.spec.driver, each.content)) for each in published.spec.devices or ()]
            return [each for each, readable in devices if all(selector.evaluate(readable) for selector in compiled)]
        except (SelectorError, ValueError):
            return []


def installed_selectors() -> DeviceSelectors | None:
    """Return the compiler; None if its libraries are not installed."""
    needed = {"cel_expr_python", "re2"} & set(extras.LIBRARIES["simulate"])
    return CompiledSelectors() if all(importlib.util.find_spec(each) is not None for each in needed) else None


def _device(driver: str, content: views.DeviceContent) -> Device:
    """Return the parts of a device that selectors can read.  Raises ValueError for a capacity that is not a quantity."""
    from scheduler_core.cel.selector import Device

    attributes = ((name, _value(each)) for name, each in (content.attributes or {}).items())
    for each in (content.capacity or {}).values():
        quantity.exact(each.value)
    return Device(
        driver,
        {name: value for name, value in attributes if value is not None},
        {name: each.value for name, each in (content.capacity or {}).items()},
        content.allow_multiple_allocations,
    )


def _value(attribute: DeviceAttribute) -> AttributeValue | None:
    from scheduler_core.cel.selector import Version

    if attribute.version is not None:
        return Version(attribute.version)
    found = (each for each in (attribute.integer, attribute.boolean, attribute.string) if each is not None)
    return next(found, None)
