"""Interfaces for placement plugins of other packages: generators, scorers and feasibility checks.

These are the counterparts of kube-scheduler's PlacementGenerate, PlacementScore and PlacementFeasible plugins (KEP-5732, New Plugin
Interfaces; KEP-6012, PlacementFeasible).  They must be pure functions of their arguments.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from kubeapi.base_structs import Record
from scheduler_core.causes.plugin_failures import PlacementMethod, PlacementPluginRaised, PluginFailure, WrongResult
from scheduler_core.model.entity import Entity
from scheduler_core.model.nodes import Nodes, NodeTable
from scheduler_core.model.pods import PodRecord

T = TypeVar("T")
Assigned = Sequence[tuple[PodRecord, int]]
"""Pods and the indices of their nodes."""


class PluginFailedError(Exception):
    """A plugin failed, as *failure* says; the root that was being placed gets the status Error."""

    def __init__(self, failure: PluginFailure) -> None:
        super().__init__(failure)
        self.failure = failure


class _WrongTypeError(TypeError):
    """A plugin returned a value of a wrong type; the text of the exception is the name of that type."""


class PlacementGenerator(Protocol):
    """Plugin that divides the nodes available to a group into placements."""

    def generate(self, entity: Entity, parent: Nodes, nodes: NodeTable) -> Mapping[str, Nodes] | None:
        """Return placements by name, each a subset of *parent* (ascending indices); None to keep *parent* whole."""


class PlacementScorer(Protocol):
    """Plugin that scores a feasible placement."""

    def score(self, entity: Entity, placement: Nodes, assigned: Assigned, nodes: NodeTable) -> int:
        """Return 0 to 100; the scores of all scorers are added."""


class FeasibilityCheck(Protocol):
    """Plugin that can reject a placement that meets the minimum of a group."""

    def check(self, entity: Entity, assigned: Assigned, nodes: NodeTable) -> str:
        """Return the reason to reject the placement; empty to accept it."""


class Plugins(Record, frozen=True):
    """Enabled placement plugins, in addition to the built-in ones."""

    generators: tuple[PlacementGenerator, ...] = ()
    scorers: tuple[PlacementScorer, ...] = ()
    checks: tuple[FeasibilityCheck, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.generators or self.scorers or self.checks)

    def generate(self, entity: Entity, parent: Nodes, nodes: NodeTable) -> list[Mapping[str, Nodes] | None]:
        """Return the placements of each generator inside *parent*.

        Raises:
            PluginFailedError: a generator raised an exception, or returned no placements.

        """
        return [_call(each, PlacementMethod.GENERATE, _placements, entity, parent, nodes) for each in self.generators]

    def score(self, entity: Entity, placement: Nodes, assigned: Assigned, nodes: NodeTable) -> int:
        """Return the sum of the scores of a feasible placement.

        Raises:
            PluginFailedError: a scorer raised an exception, or returned no number.

        """
        return sum(_call(each, PlacementMethod.SCORE, _number, entity, placement, assigned, nodes) for each in self.scorers)

    def refusal(self, entity: Entity, assigned: Assigned, nodes: NodeTable) -> str:
        """Return the reason of the first check that rejects the placement; empty if none does.

        Raises:
            PluginFailedError: a check raised an exception, or returned no text.

        """
        reasons = (_call(each, PlacementMethod.CHECK, _text, entity, assigned, nodes) for each in self.checks)
        return next(filter(None, reasons), "")


def _call(plugin: object, method: PlacementMethod, read: Callable[[Any], T], *arguments: object) -> T:
    """Call *method* and *read* its result, which raises an exception unless it has the type that the interface demands."""
    try:
        return read(getattr(plugin, method)(*arguments))
    except _WrongTypeError as error:
        raise PluginFailedError(WrongResult(type(plugin).__name__, method, str(error))) from error
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise PluginFailedError(PlacementPluginRaised(type(plugin).__name__, method, text, *_location(plugin, error))) from error


def _placements(result: Any) -> dict[str, Nodes] | None:
    if result is None:
        return None
    if not isinstance(result, Mapping) or not all(isinstance(name, str) for name in result):
        raise _WrongTypeError(type(result).__name__)
    return {name: np.asarray(nodes, dtype=np.int64) for name, nodes in result.items()}


def _number(result: Any) -> int:
    if not isinstance(result, int | float | np.number):
        raise _WrongTypeError(type(result).__name__)
    return int(result)


def _text(result: Any) -> str:
    if not isinstance(result, str | None):
        raise _WrongTypeError(type(result).__name__)
    return result or ""


def _location(plugin: object, error: Exception) -> tuple[str, int | None]:
    """Return file and number of the line of the plugin's package where *error* was raised, or where it called the library that raised it.

    If no frame belongs to that package, the last frame outside our packages is used.  The file is empty if there is none: the method is
    missing, or written in C.
    """
    frames = [
        (str(frame.f_globals.get("__name__")).partition(".")[0], frame, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    others = [each for each in frames if each[0] not in _OURS]
    package = type(plugin).__module__.partition(".")[0]
    for _, frame, line in ([other for other in others if other[0] == package] or others)[-1:]:
        return frame.f_code.co_filename, line
    return "", None


_OURS = frozenset({"scheduler_core", "validators"})
"""Packages that call a plugin, and that a plugin can call."""
