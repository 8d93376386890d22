"""Rules, one file each.  ``ALL`` collects them from the modules of this package: there is no list to edit."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from types import MappingProxyType
from typing import TYPE_CHECKING

from kubeapi.meta import replaced
from validators.rules.base import Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOT_RULES = frozenset({"base", "checks"})


@functools.cache
def discover() -> Mapping[str, Rule]:
    """Return all rules by id, in order of id.  The id of a rule is its module name with dashes."""
    rules: dict[str, Rule] = {}
    for module_name in sorted(each.name for each in pkgutil.iter_modules(__path__) if each.name not in _NOT_RULES):
        module = importlib.import_module(f"{__name__}.{module_name}")
        rule: Rule = module.RULE
        if rule.id != module_name.replace("_", "-"):
            raise ValueError(f"rule {rule.id!r} is in {module_name}.py")
        rules[rule.id] = replaced(rule, claim=" ".join((module.__doc__ or "").split()))
    return MappingProxyType(dict(sorted(rules.items())))


def __getattr__(name: str) -> Mapping[str, Rule]:
    if name == "ALL":
        return discover()
    raise AttributeError(name)
