"""Request of a simulation: options of the command line, overridden by those of a line of a batch."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

from muster.commands import options, placement_plugins
from muster.commands.simulate.what_if import Addition, WhatIfError
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.options import STRATEGIES
from validators.gates import GateError, Gates

IGNORABLE = frozenset(
    {
        "spec.resourceClaims",
        "spec.topologySpreadConstraints",
        *(
            f"spec.volumes.{name}"
            for name in (
                *("persistentVolumeClaim", "ephemeral", "awsElasticBlockStore", "gcePersistentDisk", "azureDisk", "azureFile"),
                *("cinder", "portworxVolume", "vsphereVolume", "iscsi", "rbd"),
            )
        ),
    }
)
"""Fields of pods that can keep one off a node and are not modelled."""


LARGEST_BUDGET = 100_000_000
"""Steps: some minutes for a root."""


class BadQuestion(ValueError):
    """Options that mean nothing, told for a person."""


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """One question's options."""

    cycle: CycleOptions = dataclasses.field(default_factory=CycleOptions)
    drain: tuple[str, ...] = ()
    """Nodes that are to be as if they were gone."""
    additions: tuple[Addition, ...] = ()
    timings: bool = False
    remedies: int | None = None
    """Roots that remedies are looked for, at most; None for the default of the strategy."""
    fragmentation: bool = False


def with_options(asked: Asked, given: object) -> Asked:
    """*asked* changed by the ``options`` of a line of a batch.

    Raises:
        BadQuestion: an option that there is not, or a value that it cannot have.

    """
    if given is None:
        return asked
    if not isinstance(given, Mapping):
        raise BadQuestion("options must be an object")
    for key, value in _paired(given).items():
        if key not in _TAKEN:
            raise BadQuestion(f"there is no option {key!r}{options.near(key, _TAKEN)}")
        asked = _TAKEN[key](asked, key, value)
    return asked


def names(key: str, value: object) -> tuple[str, ...]:
    """Names in a list, or in a text that separates them by commas.

    Raises:
        BadQuestion: it is neither.

    """
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) for each in value):
        raise BadQuestion(f"option {key} must be a list of names")
    return tuple(each.strip() for each in value if each.strip())


def _paired(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """*given* with each number of ``addNodes`` joined to its ``like``, the first with the first: ``8`` and ``n1`` as ``8 like n1``.

    Raises:
        BadQuestion: there are more of the one than of the other.

    """
    many, likes = (value if isinstance(value, (list, tuple)) else [value] for value in (given.get("addNodes", []), given.get("like", [])))
    numbers = [each for each in many if re.fullmatch(r"\s*-?\d+\s*", str(each))]
    if len(numbers) != len(likes) or not all(isinstance(each, str) for each in likes):
        count = f"{len(numbers)} and {len(likes)}"
        raise BadQuestion(f"option addNodes: each number needs a node to copy, as in '8 like node-7'; numbers and nodes: {count}")
    if not numbers:
        return given
    left = iter(likes)
    whole = [f"{each} like {next(left)}" if each in numbers else each for each in many]
    return {**{key: value for key, value in given.items() if key != "like"}, "addNodes": whole}


def additions(texts: object) -> tuple[Addition, ...]:
    """Nodes to be added, each as ``N like NODE[,label=value...]``.

    Raises:
        BadQuestion: one is not of that form.

    """
    listed = [texts] if isinstance(texts, str) else texts
    if not isinstance(listed, (list, tuple)) or not all(isinstance(each, str) for each in listed):
        raise BadQuestion("option addNodes must be a list of strings such as '2 like node-1,topology.kubernetes.io/zone=z2'")
    try:
        return tuple(Addition.from_text(each) for each in listed)
    except WhatIfError as error:
        raise BadQuestion(str(error)) from None


def _strategy(asked: Asked, _: str, value: object) -> Asked:
    if value not in STRATEGIES:
        raise BadQuestion(f"option strategy must be one of {', '.join(STRATEGIES)}, is {value!r}")
    return _cycle(asked, strategy=value)


def _gates(asked: Asked, _: str, value: object) -> Asked:
    if not isinstance(value, Mapping) or not all(isinstance(on, bool) for on in value.values()):
        raise BadQuestion("option gates must be an object of feature gates, each true or false")
    before = dict.fromkeys(asked.cycle.gates.off, False)
    try:
        return _cycle(asked, gates=Gates.from_switches([*before.items(), *value.items()]))
    except GateError as error:
        raise BadQuestion(str(error)) from None


def _flag(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise BadQuestion(f"option {key} must be true or false")
    return value


def _scheduler(asked: Asked, key: str, value: object) -> Asked:
    if value is not None and not isinstance(value, str):
        raise BadQuestion(f"option {key} must be a name")
    return _cycle(asked, scheduler_name=value)


def _percentage(asked: Asked, key: str, value: object) -> Asked:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 100:
        raise BadQuestion(f"option {key} must be a number from 0 to 100")
    return _placing(asked, percentage_of_placements=value)


def _ignore(asked: Asked, key: str, value: object) -> Asked:
    fields = names(key, value)
    for field in fields:
        if (bare := re.sub(r"\[\d+\]", "", field)) not in IGNORABLE:
            near = options.near(bare, IGNORABLE) or f"; the fields are {', '.join(sorted(IGNORABLE))}"
            raise BadQuestion(f"option ignore: {field!r} is not a field that can be ignored{near}")
    return _cycle(asked, ignore=frozenset(fields))


def _plugin(asked: Asked, key: str, value: object) -> Asked:
    found = names(key, value)
    # An empty list of a line takes back what the command line says.
    if not found and value != []:
        raise BadQuestion(f"option {key} {value!r} {placement_plugins.NAMES_NONE}")
    try:
        return _cycle(asked, plugins=placement_plugins.load(found))
    except placement_plugins.PluginError as error:
        raise BadQuestion(str(error)) from None


def _remedies(asked: Asked, key: str, value: object) -> Asked:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_BUDGET:
        raise BadQuestion(f"option {key} must be a number of roots from 0 to {LARGEST_BUDGET}")
    return dataclasses.replace(asked, remedies=value)


def _budget(asked: Asked, key: str, value: object) -> Asked:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_BUDGET:
        raise BadQuestion(f"option {key} must be a number of steps from 1 to {LARGEST_BUDGET}")
    return _cycle(asked, budget=value)


def _cycle(asked: Asked, **changes: Any) -> Asked:
    return dataclasses.replace(asked, cycle=dataclasses.replace(asked.cycle, **changes))


def _placing(asked: Asked, **changes: Any) -> Asked:
    return _cycle(asked, placing=dataclasses.replace(asked.cycle.placing, **changes))


_TAKEN: dict[str, Callable[[Asked, str, object], Asked]] = {
    "strategy": _strategy,
    "gates": _gates,
    "order": lambda asked, key, value: _cycle(asked, order=names(key, value)),
    "evict": lambda asked, key, value: _cycle(asked, evict=_flag(key, value)),
    "timings": lambda asked, key, value: dataclasses.replace(asked, timings=_flag(key, value)),
    "fragmentation": lambda asked, key, value: dataclasses.replace(asked, fragmentation=_flag(key, value)),
    "drain": lambda asked, key, value: dataclasses.replace(asked, drain=names(key, value)),
    "addNodes": lambda asked, _, value: dataclasses.replace(asked, additions=additions(value)),
    "schedulerName": _scheduler,
    "plugin": _plugin,
    "budget": _budget,
    "remedies": _remedies,
    "ignore": _ignore,
    "fourStatuses": lambda asked, key, value: _placing(asked, four_statuses=_flag(key, value)),
    "nominatedFirst": lambda asked, key, value: _placing(asked, nominated_first=_flag(key, value)),
    "percentageOfPlacements": _percentage,
    "everyPod": lambda asked, key, value: _placing(asked, every_pod=_flag(key, value)),
    "preemptForLeftovers": lambda asked, key, value: _placing(asked, preempt_for_leftovers=_flag(key, value)),
}
"""Every option of a question, as it is named there, and what it changes."""
