"""What a rule is, and what it is given to look at.

A rule is one claim about an object, in one file: its function ``check`` yields a FieldError for each breach and never
raises or stops at the first.  Its examples are its tests and its documentation.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterable

from validators import lookup as lookups
from validators.field import FieldError, FieldPath
from validators.gates import COMPOSITE, Gates
from validators.hierarchy.tree import GroupNode, GroupTree
from validators.model import traits
from validators.model.group import CompositePodGroup, Group, PodGroup
from validators.model.objects import Object, namespace_of
from validators.model.pod import Job, Pod, PodSpec
from validators.model.templates import Templates
from validators.model.workload import Workload
from validators.once import Once
from validators.versions import releases
from validators.versions.form import HUB, Form


class Severity(enum.StrEnum):
    """What a breach of a rule leads to."""

    ERROR = "error"
    WARNING = "warning"
    OFF = "off"


class Profile(enum.StrEnum):
    """``kep``: all that the documents demand.  ``upstream``: what the API server of that version demands and no more."""

    __hash__ = str.__hash__  # the enum's own is written in Python
    KEP = "kep"
    UPSTREAM = "upstream"


class Operation(enum.StrEnum):
    """What is being done to the object."""

    __hash__ = str.__hash__  # the enum's own is written in Python
    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


class About(enum.StrEnum):
    """What a rule looks at: JSON alone, one object, its change, or the objects around it."""

    SHAPE = "shape"
    OBJECT = "object"
    CHANGE = "change"
    TREE = "tree"
    FILE = "file"


CREATE_ONLY = frozenset({Operation.CREATE})
UPDATE_ONLY = frozenset({Operation.UPDATE})
CREATE_AND_UPDATE = frozenset({Operation.CREATE, Operation.UPDATE})

WORKLOAD = frozenset({"Workload"})
GROUPS = frozenset({"PodGroup", "CompositePodGroup"})
SHAPED = WORKLOAD | GROUPS
"""The kinds whose fields ``Templates`` lays flat."""
PODS = frozenset({"Pod", "Job"})
"""The kinds that hold a pod's spec."""


@dataclasses.dataclass(frozen=True, slots=True)
class Example:
    """Manifests that keep a rule, or break it at the places named.

    ``yaml`` holds the object that is judged first, then others that may be looked up.  ``old`` is the object before an
    update.  ``at`` are the field paths told; none for a good example.
    """

    yaml: str
    at: tuple[str, ...] = ()
    old: str = ""
    status: bool = False
    kubernetes: str = releases.name(releases.TODAY)
    gates_off: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One claim.  The claim itself is the docstring of its module."""

    id: str
    kinds: frozenset[str]
    why: str
    source: str
    check: Callable[[Context], Iterable[FieldError]]
    good: tuple[Example, ...]
    bad: tuple[Example, ...]
    about: About = About.OBJECT
    on: frozenset[Operation] = CREATE_ONLY
    profile: Profile = Profile.UPSTREAM
    """The least demanding profile that has this rule."""
    severity: Severity = Severity.ERROR
    at_admission: Severity | None = None
    """Where it differs from ``severity``.  What names an object that is not there is a warning at admission anyhow."""
    by_plugin: bool = False
    """Whether the API server's own answer comes from an admission plugin: HTTP 403 and no causes."""
    forms: frozenset[Form] = frozenset()
    """The forms of objects that it applies to; all, if none is named."""
    status: bool = False
    """Whether it speaks about ``status``: judged on updates of the subresource, and on files."""
    where: int = traits.ALWAYS
    """Traits of the templates: where none of them occurs, the rule has nothing to say and is not asked."""
    claim: str = ""
    """Filled in from the module's docstring."""


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """How strictly, and as which API server."""

    profile: Profile = Profile.KEP
    minor: int = releases.TODAY
    """The API server's minor version: ``releases.OLDEST`` to ``releases.NEWEST``."""
    gates: Gates = dataclasses.field(default_factory=Gates)
    severities: tuple[tuple[str, Severity], ...] = ()
    """Severities set by the user, by rule id."""
    linting: bool = False
    """Whether files are judged, where all inputs are known; otherwise requests, where others may still arrive."""


class Context:
    """What a rule is given: the object, what it was before, and a way to ask for others."""

    __slots__ = ("__dict__", "form", "lookup", "new", "old", "operation", "settings")

    def __init__(
        self,
        new: Object,
        old: Object | None,
        operation: Operation,
        *,
        settings: Settings,
        lookup: lookups.Lookup,
        tree: GroupTree | None = None,
        form: Form = HUB,
    ) -> None:
        self.form = form
        self.new = new
        self.old = old
        self.operation = operation
        self.settings = settings
        self.lookup = lookup
        if tree is not None:
            self.__dict__["tree"] = tree

    @property
    def creating(self) -> bool:
        """Whether the object is new."""
        return self.operation is Operation.CREATE

    @property
    def namespace(self) -> str:
        """The namespace of the object."""
        return namespace_of(self.new)

    @property
    def policy_is_fixed(self) -> bool:
        """Whether the scheduling policy cannot change at all: a CompositePodGroup's until 1.38, any in retired versions."""
        if self.operation is not Operation.UPDATE:
            return False
        is_composite = isinstance(self.new, CompositePodGroup)
        return self.form.templates_fixed or (is_composite and self.settings.minor < releases.FIRST_WITH_MUTABLE_COMPOSITES)

    @Once
    def templates(self) -> Templates:
        """The template tree (or the group's single shape): the walk that all rules share."""
        new, old = self.new, self.old
        if not isinstance(new, (Workload, PodGroup, CompositePodGroup)):
            raise TypeError(f"a {new.kind} has no templates")
        return Templates(new, old if isinstance(old, type(new)) else None, composites_immutable=not self.settings.gates.enabled(COMPOSITE))

    @property
    def traits(self) -> int:
        """What occurs in the templates; anything may, where there are none."""
        return self.templates.traits if isinstance(self.new, (Workload, PodGroup, CompositePodGroup)) else traits.ANY

    @Once
    def tree(self) -> GroupTree:
        """The tree of groups around this one."""
        return GroupTree.from_group(self.group, self.lookup)

    @property
    def group(self) -> Group:
        """The object, which is a group."""
        if not isinstance(self.new, (PodGroup, CompositePodGroup)):
            raise TypeError(f"a {self.new.kind} is no group")
        return self.new

    @property
    def node(self) -> GroupNode:
        """The group's place in its tree."""
        return self.tree.node(self.group)

    @property
    def pod_spec(self) -> PodSpec:
        """The spec of the Pod, or of the Job's pod template."""
        if isinstance(self.new, Job):
            return self.new.spec.template.spec
        if isinstance(self.new, Pod):
            return self.new.spec
        raise TypeError(f"a {self.new.kind} has no pod spec")

    @property
    def pod_path(self) -> FieldPath:
        """Where that spec stands."""
        return FieldPath("spec", "template", "spec") if isinstance(self.new, Job) else FieldPath("spec")


def no_check(_: Context) -> Iterable[FieldError]:
    """The check of a rule that is told by the reader of files or by the JSON Schema, not by looking at the object."""
    return ()
