"""Selectors of device classes and requests, evaluated for devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubeapi.devices import DeviceAttribute, DeviceCapacity
from scheduler_core.causes.claims import SelectorNotEvaluated
from scheduler_core.causes.filter_reasons import DeviceAdvice, SearchUnfinished
from scheduler_core.cel import versions
from scheduler_core.cel.selector import AttributeValue, CompileError, Device, Selector, SelectorError, Version, compile_selector
from scheduler_core.cel.values import Fault
from scheduler_core.model.device_pools import PoolDevice
from scheduler_core.model.devices import Alternative, distinct, selector_error


class AllocationError(Exception):
    """Error with which kube-scheduler ends the attempt to place a pod, also if other nodes fit.

    Attributes:
        error: the text of kube-scheduler, or why the search did not finish.
        claim: index of the claim that the text is about, and whose name is to be put before it; None if there is none.
        advice: what to change; None if it is not known.
        everywhere: True if no other device or node can be used.
        of_pool: True if a pool that the node reaches cannot be used: some versions of kube-scheduler only exclude the node.

    """

    def __init__(
        self,
        error: str | SearchUnfinished,
        claim: int | None = None,
        advice: DeviceAdvice | None = None,
        *,
        everywhere: bool = False,
        of_pool: bool = False,
    ) -> None:
        super().__init__(error)
        self.error = error
        self.claim = claim
        self.advice = advice
        self.everywhere, self.of_pool = everywhere, of_pool


class SelectionError(AllocationError):
    """A selector cannot be compiled or evaluated.

    Attributes:
        selector: the selector; that of the claim with the index *claim* is without the name of the claim.

    """

    def __init__(self, selector: SelectorNotEvaluated, claim: int | None) -> None:
        owner = f"class {selector.device_class}" if selector.device_class else ""
        message = f"{owner}{selector_error(selector.index, selector.device, selector.error)}"
        super().__init__(message, claim, selector.advice, everywhere=not selector.device)
        self.selector = selector


class Selection:
    """Devices that requests select; each selector is compiled once, and evaluated once for equal devices.

    Unless *exact*, a selector that cannot be evaluated for a device does not match it.  If *tolerant*, an attribute whose value cannot be read
    is missing, and of two with one name that with the domain counts; else no selector can be evaluated for the device, and the last one counts.

    Attributes:
        failed: the first such error since it was set to None.
        failures: the first such error by alternative.

    """

    def __init__(self, *, exact: bool = True, tolerant: bool = False) -> None:
        self._exact, self._tolerant = exact, tolerant
        self.failed: SelectionError | None = None
        self.failures: dict[Alternative, SelectionError] = {}
        self._devices: dict[PoolDevice, Device] = {}
        self._selected: dict[tuple[Alternative, PoolDevice], bool] = {}

    def selects(self, alternative: Alternative, claim: int, device: PoolDevice) -> bool:
        """Return whether the selectors of the class and of the request of the claim with the index *claim* match *device*.

        Raises:
            SelectionError: a selector cannot be compiled or evaluated.

        """
        try:
            return self.evaluated(alternative, claim, device)
        except SelectionError as error:
            if self._exact:
                raise
            self.failed = self.failed or error
            self.failures.setdefault(alternative, error)
            return False

    def check(self, alternative: Alternative, claim: int) -> None:
        """Compile the selectors that *alternative* of a claim has.

        Raises:
            SelectionError: one cannot be compiled.

        """
        owners = ((alternative.device_class, None, alternative.class_selectors), ("", claim, alternative.selectors))
        for device_class, of_claim, expressions in owners:
            for index, expression in enumerate(expressions):
                try:
                    compile_selector(expression)
                except CompileError as error:
                    raise _uncompiled(device_class, of_claim, index, error) from None

    def evaluated(self, alternative: Alternative, claim: int, device: PoolDevice) -> bool:
        """Return the same as ``selects``; a selector that cannot be evaluated is always an error.

        Raises:
            SelectionError: a selector cannot be compiled or evaluated.

        """
        at = alternative, device
        if (known := self._selected.get(at)) is None:
            of_class = self._all(alternative.device_class, None, alternative.class_selectors, device)
            known = self._selected[at] = of_class and self._all("", claim, alternative.selectors, device)
        return known

    def _all(self, device_class: str, claim: int | None, expressions: Iterable[str], device: PoolDevice) -> bool:
        for index, expression in enumerate(expressions):
            try:
                if not self._matches(compile_selector(expression), device):
                    return False
            except CompileError as error:
                raise _uncompiled(device_class, claim, index, error) from None
            except SelectorError as error:
                name, advice = "/".join(device.id), DeviceAdvice.TEST_ATTRIBUTE
                raise SelectionError(SelectorNotEvaluated(None, device_class, index, name, str(error), advice), claim) from None
        return True

    def _matches(self, selector: Selector, device: PoolDevice) -> bool:
        if (read := self._devices.get(device)) is None:
            read = self._devices[device] = _readable(device, tolerant=self._tolerant)
        return selector.matches(read)


def _uncompiled(device_class: str, claim: int | None, index: int, error: CompileError) -> SelectionError:
    return SelectionError(SelectorNotEvaluated(None, device_class, index, "", str(error), DeviceAdvice.CORRECT_EXPRESSION), claim)


def _readable(device: PoolDevice, *, tolerant: bool) -> Device:
    """Return the parts of *device* that selectors can read."""
    content, driver = device.content, device.id[0]
    published: Mapping[str, DeviceAttribute] = content.attributes or {}
    capacity: Mapping[str, DeviceCapacity] = content.capacity or {}
    if tolerant:
        published = {name: each for name, each in distinct(published, driver).items() if _is_readable(each)}
        capacity = distinct(capacity, driver)
    attributes = ((name, _value(each)) for name, each in published.items())
    return Device(
        driver,
        {name: value for name, value in attributes if value is not None},
        {name: each.value for name, each in capacity.items()},
        content.allow_multiple_allocations,
    )


def _is_readable(attribute: DeviceAttribute) -> bool:
    try:
        return attribute.version is None or versions.parse(attribute.version) is not None
    except Fault:
        return False


def _value(attribute: DeviceAttribute) -> AttributeValue | None:
    """Return the value of an attribute; None if it has a type that 1.37 does not read."""
    if attribute.version is not None:
        return Version(attribute.version)
    found = (each for each in (attribute.integer, attribute.boolean, attribute.string) if each is not None)
    return next(found, None)
