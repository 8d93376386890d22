"""Words and keys of causes in JSON, from their classes and the types of their fields.

A field is a key in camel case.  It is left out if it is None, False, or empty with an empty default; so keys of other fields are always
present.  The fields of some values are keys of the cause itself, and causes of a cause are its ``causes``.
"""

from __future__ import annotations

import enum
import functools
import inspect
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from expansion.notes import Note
from kubeapi.base_structs import Record
from muster.render.drain_facts import DrainFact, LaterUpdateHangs
from muster.render.file_notes import FileNote
from scheduler_core.causes.attempts import AttemptResult, Feasibility
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.changes import SearchedRoots
from scheduler_core.causes.claims import DevicesExchanged, SharedClaims
from scheduler_core.causes.domains import AttemptFailed, DomainCause, DroppedFilter, NodeCause, PodRule
from scheduler_core.causes.filter_reasons import ReasonValue
from scheduler_core.causes.groups import ChildrenInDomain
from scheduler_core.causes.input_problems import InputProblem
from scheduler_core.causes.live import Awaited, BudgetConflict, EvictionRefused, Unlisted
from scheduler_core.causes.missed_placements import GreedyLimit
from scheduler_core.causes.node_count import NodeCount
from scheduler_core.causes.pre_enqueue import GroupViolations, TreeViolation
from scheduler_core.causes.searches import AttemptNote
from scheduler_core.causes.volume_causes import StorageShortage
from scheduler_core.model.names import Domain, NamedClaim
from scheduler_core.model.resource_values import AttachableVolumes, VolumesOfClass

ProblemFact = InputProblem | FileNote | DrainFact | LaterUpdateHangs | Note | SearchedRoots
"""What a problem or note says."""
OBJECT, CAUSES, MESSAGE = "object", "causes", "message"
MARKERS = (AttemptResult, AttemptNote, Awaited, PodRule)
"""Causes without fields; the reason is the name of the member."""
INLINED = (NodeCount, NamedClaim, AttachableVolumes, VolumesOfClass, Unlisted, *typing.get_args(ReasonValue))
"""Values whose fields are keys of the value that has them."""
_WORDS: Mapping[type, str] = {
    Feasibility: "MinimumNotMet",
    DomainCause: "DomainTooSmall",
    ChildrenInDomain: "DomainTooSmallForGroups",
    DroppedFilter: "FilterDropped",
}
"""Reasons that do not have the name of their class."""
_KEYS = {
    **dict.fromkeys(("path", "group", "root"), OBJECT),
    **dict.fromkeys(("reason", "text", "error", "detail"), MESSAGE),
    "NodeCount.count": "nodes",
    "NodeCount.total": "ofNodes",
    "NamedClaim.label": "claim",
    "SearchUnfinished.tried": "triedDevices",
    "SearchedRoots.failed": "roots",
    # They are in the message.
    "DeviceError.error": "",
    "ParentAwaited.names_child": "",
    "PodGroupAwaited.or_ancestor": "",
    # Label selectors do not compare numbers.
    "SelectorClause.bound": "",
}
"""Keys of fields with another name, and by class of some of them; a message is a text of kube-scheduler, a plugin, a rule or the API server."""


class CauseField(Record, frozen=True):
    """Field of a cause, or of a value in one.

    Attributes:
        key: its key in JSON; empty if it is none.
        type: its type, without None.
        unit: ``quantity``, ``bytes``, or empty for other fields.
        required: True if its key is always present.
        holds_causes: True if its values are ``causes``.

    """

    name: str
    key: str
    type: Any
    unit: str
    required: bool
    holds_causes: bool


@functools.cache
def cause_types() -> tuple[type, ...]:
    """Return the classes of all causes, and of the causes in causes."""
    unions = (Cause, NodeCause, GreedyLimit, TreeViolation, BudgetConflict)
    others: tuple[type, ...] = (
        AttemptFailed,
        DomainCause,
        DroppedFilter,
        PodRule,
        ChildrenInDomain,
        StorageShortage,
        GroupViolations,
        EvictionRefused,
    )
    # The kind of a problem without fields says all.
    problems = [kind for kind in typing.get_args(ProblemFact) if issubclass(kind, Record) and kind.__struct_fields__]
    members = (kind for union in unions for kind in typing.get_args(union))
    return (*dict.fromkeys((*members, *others, DevicesExchanged, SharedClaims, *problems)),)


@functools.cache
def kinds_by_word() -> Mapping[str, tuple[type, ...]]:
    """Return the classes of the causes with each word of ``reason``, by word, sorted."""
    found: dict[str, tuple[type, ...]] = {}
    for kind in cause_types():
        for word in map(member_word, kind) if issubclass(kind, enum.Enum) else (word_of(kind),):
            found[word] = (*found.get(word, ()), kind)
    return dict(sorted(found.items()))


def word_of(kind: type) -> str:
    """Return the word of a class of causes."""
    return _WORDS.get(kind, kind.__name__)


def member_word(member: enum.Enum) -> str:
    """Return the word of a member of an enumeration: ``NoPlacement`` for ``no-placement``."""
    return "".join(map(str.capitalize, member.value.split("-")))


@functools.cache
def fields(kind: type) -> tuple[CauseField, ...]:
    """Return the fields of a dataclass, a named tuple or a struct that are keys; none of a cause without fields."""
    return () if issubclass(kind, MARKERS) else tuple(each for each in _fields(kind) if each.key)


def _fields(kind: type) -> Iterator[CauseField]:
    hints = typing.get_type_hints(kind, include_extras=True)
    for name, parameter in inspect.signature(kind).parameters.items():
        arguments = typing.get_args(hints[name])
        given = tuple(each for each in arguments if each is not types.NoneType)
        hint: Any = hints[name] if given == arguments else typing.Union[given]  # noqa: UP007 - of a tuple
        unit = hint.__metadata__[0] if typing.get_origin(hint) is typing.Annotated else ""
        empty = parameter.default in ((), "", frozenset())
        required = given == arguments and not empty and hint not in (bool, Domain)
        # A text, or a value in its place, is a message.
        holds_causes = str not in given and any(part in cause_types() for part in _parts(hint))
        yield CauseField(name, _key(kind, name), hint, unit, required, holds_causes)


def _parts(hint: Any) -> Iterator[Any]:
    """Yield a type, or the types of its items."""
    yield hint
    for each in typing.get_args(hint):
        yield from _parts(each)


def _key(kind: type, name: str) -> str:
    """Return the key of a field; empty if it is none."""
    if (by_class := _KEYS.get(f"{kind.__name__}.{name}")) is not None:
        return by_class
    if name in _KEYS and kind in (*cause_types(), *INLINED):
        return _KEYS[name]
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
