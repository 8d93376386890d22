"""DeviceTaintRules by the devices that they select."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from kubeapi.devices import DeviceTaint, DeviceTaintRuleSpec

_Selected = tuple[str | None, str | None, str | None]
"""Driver, pool and device; None for all."""


class TaintRules:
    """Taint rules by name: a device is looked up, and not compared with every rule."""

    def __init__(self, rules: Mapping[str, DeviceTaintRuleSpec] | None = None) -> None:
        self._rules: dict[str, DeviceTaintRuleSpec] = {}
        self._taints: dict[_Selected, dict[str, DeviceTaint]] = {}
        for name, each in (rules or {}).items():
            self.set(name, each)

    def get(self, name: str) -> DeviceTaintRuleSpec | None:
        """Return the rule *name*; None if there is none."""
        return self._rules.get(name)

    def set(self, name: str, rule: DeviceTaintRuleSpec | None) -> None:
        """Add or replace a rule, or remove it (None)."""
        before = self._rules.pop(name, None)
        if before is not None and (key := _selected(before)) is not None:
            del self._taints[key][name]
            if not self._taints[key]:
                del self._taints[key]
        if rule is not None:
            self._rules[name] = rule
            if (key := _selected(rule)) is not None:
                self._taints.setdefault(key, {})[name] = rule.taint

    def taints(self, driver: str, pool: str, device: str) -> tuple[DeviceTaint, ...]:
        """Return the taints of a device, in the order of the names of the rules."""
        if not self._taints:
            return ()
        keys = itertools.product((driver, None), (pool, None), (device, None))
        found = {name: taint for key in keys if key in self._taints for name, taint in self._taints[key].items()}
        return tuple(found[name] for name in sorted(found))


def _selected(rule: DeviceTaintRuleSpec) -> _Selected | None:
    """Return the devices that *rule* selects; None if it has no selector and selects none."""
    selector = rule.device_selector
    return None if selector is None else (selector.driver, selector.pool, selector.device)
