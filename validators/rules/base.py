"""Definition of a rule, and its input.

A rule is one claim about an object, in one file.  Its function ``check`` yields a FieldError for each violation; it never
raises and does not stop at the first.  The examples of a rule are its tests and its documentation.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from kubeapi import decode
from kubeapi.base_structs import Record
from kubeapi.decode import Source
from kubeapi.devices import DeviceSelector
from kubeapi.field_path import FieldPath
from kubeapi.groups import CompositePodGroup, Group, PodGroup
from kubeapi.resource_claims import MAX_ALTERNATIVES, MAX_IN_CLAIM
from kubeapi.versions import kubernetes_releases
from kubeapi.versions.conversion import HUB, Form
from kubeapi.workloads import Workload
from validators import object_lookup as lookups
from validators.cached_attribute import Once
from validators.field import FieldError
from validators.gates import COMPOSITE, Gates
from validators.hierarchy.group_pods import GroupPods, group_pods
from validators.hierarchy.tree import GroupNode, GroupTree
from validators.model import controllers, traits
from validators.model.controllers import TemplatePods
from validators.model.objects import Object, namespace_of
from validators.model.templates import Templates
from validators.model.views import (
    Device,
    DeviceClaim,
    DeviceClass,
    DeviceSubRequest,
    Job,
    Pod,
    PodSpec,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)


class DeviceSelectors(Protocol):
    """Compiler of selectors of devices, in the Common Expression Language."""

    def compile_error(self, expression: str) -> str:
        """Return the error of the API server for *expression*; empty if it is valid."""

    def evaluation_error(self, expressions: Sequence[str], slices: Sequence[ResourceSlice]) -> str:
        """Return the error of a device of *slices* for which *expressions*, in order, cannot be evaluated; empty if there is none."""

    def matching(self, expressions: Sequence[str], published: ResourceSlice) -> list[Device]:
        """Return the devices of *published* that match all *expressions*; none if one cannot be evaluated for a device."""


class Severity(enum.StrEnum):
    """Severity of a violation of a rule."""

    ERROR = "error"
    WARNING = "warning"
    OFF = "off"


class Profile(enum.StrEnum):
    """Set of rules.  ``kep``: all that the KEPs require.  ``upstream``: exactly what the API server of that version requires."""

    __hash__ = str.__hash__  # faster than the method of Enum, which is written in Python
    KEP = "kep"
    UPSTREAM = "upstream"


class Operation(enum.StrEnum):
    """Operation of a request on the object."""

    __hash__ = str.__hash__  # faster than the method of Enum, which is written in Python
    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


class About(enum.StrEnum):
    """Subject of a rule: the shape of the JSON, one object, its change, its tree of related objects, or the file."""

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
"""Kinds with templates or the shape of one: the input of ``Templates``."""
PODS = frozenset({"Pod", "Job"})
"""Kinds that contain a pod spec."""
POD_TEMPLATES = PODS | controllers.KINDS | {"CronJob", "JobSet"}
"""Kinds with pods or pod templates: the input of ``Context.pods``."""
CLAIMS = frozenset({"ResourceClaim", "ResourceClaimTemplate"})
"""Kinds that request devices."""


class Example(Record, frozen=True):
    """Manifests that comply with a rule, or violate it at the given field paths.

    ``yaml`` has the validated object first, then other objects for the lookup.  ``old`` is the object before an update.
    ``at`` are the field paths of the errors; empty for a good example.
    """

    yaml: str
    at: tuple[str, ...] = ()
    old: str = ""
    status: bool = False
    fixed: str = ""
    """The manifests after the fix of the first error; empty if it has none."""
    kubernetes: str = kubernetes_releases.name(kubernetes_releases.TODAY)
    gates_off: tuple[str, ...] = ()


class Rule(Record, frozen=True, kw_only=True):
    """One claim about an object.  The docstring of the rule's module is the text of the claim."""

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
    """The least strict profile that has this rule."""
    since: int = kubernetes_releases.OLDEST
    """First minor version of Kubernetes that has this rule, in every profile."""
    upstream_since: int | None = None
    """First minor version whose API server has this rule of profile kep; None: none has."""
    until: int = kubernetes_releases.NEWEST
    """Last minor version that has this rule; for later ones it is a warning in profile kep."""
    changes: tuple[kubernetes_releases.Since, ...] = ()
    """Changes of what the rule requires, or of how the API server reports it."""
    severity: Severity = Severity.ERROR
    at_admission: Severity | None = None
    """Severity at admission, if it differs; OFF: the rule is for files.  A reference to a missing object is always a warning there."""
    by_plugin: bool = False
    """True if an admission plugin of the API server reports this: HTTP 403 without causes."""
    forms: frozenset[Form] = frozenset()
    """Forms of objects to which the rule applies; empty means all."""
    status: bool = False
    """True if the rule is about ``status``: it runs on updates of the subresource, and on files."""
    relevant_traits: int = traits.ALWAYS
    """Traits of the templates.  The rule is skipped for objects that have none of them."""
    claim: str = ""
    """Set from the module's docstring."""

    def has(self, profile: Profile, minor: int) -> bool:
        """Return whether *profile* has the rule for Kubernetes 1.*minor*."""
        if profile is Profile.KEP or minor < self.since:
            return minor >= self.since
        enforced = self.profile is Profile.UPSTREAM or (self.upstream_since is not None and minor >= self.upstream_since)
        return enforced and minor <= self.until

    def versions(self) -> list[str]:
        """Return the Kubernetes versions that have the rule, if not all have, and its changes, as sentences in Markdown."""
        sentences = []
        if self.since > kubernetes_releases.OLDEST:
            sentences.append(f"Kubernetes {kubernetes_releases.name(self.since)} introduced the rule.")
        if self.upstream_since is not None:
            sentences.append(
                f"From Kubernetes {kubernetes_releases.name(self.upstream_since)} on, it is also a rule of profile `upstream`."
            )
        if self.until < kubernetes_releases.NEWEST:
            sentences.append(
                f"Kubernetes {kubernetes_releases.name(self.until + 1)} withdrew the rule: profile `upstream` does not have it, and it is a warning."
            )
        return [*sentences, *map(str, self.changes)]

    def severity_for(self, minor: int) -> Severity:
        """Return the severity for Kubernetes 1.*minor*: a warning if the API server no longer has the rule."""
        return self.severity if minor <= self.until else Severity.WARNING


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a validation: profile, API server to mirror, severities."""

    profile: Profile = Profile.KEP
    minor: int = kubernetes_releases.TODAY
    """The API server's minor version: ``kubernetes_releases.OLDEST`` to ``kubernetes_releases.NEWEST``."""
    gates: Gates = dataclasses.field(default_factory=Gates)
    severities: tuple[tuple[str, Severity], ...] = ()
    """Severities set by the user, by rule id."""
    by_file: Callable[[str, str], Severity | None] | None = None
    """Severity of a rule in a file, by file and rule id; None if it is that of all files."""
    fixes: bool = False
    """True if findings have fixes; those of errors about references are names of other objects that are similar."""
    linting: bool = False
    """True if files are validated, where all objects are known.  At admission, missing objects can be created later."""
    whole_documents: bool = False
    """True if documents that create pods are validated in all of their fields, and groups and kinds are compared with the known ones."""
    complete_kinds: frozenset[str] = frozenset()
    """Kinds of which all objects are known.  Other classes are installed by platforms and drivers: one that is not known may exist."""
    selectors: DeviceSelectors | None = None
    """Compiler of selectors of devices; None: they are not compiled."""

    def for_form(self, form: Form) -> Settings:
        """Return the settings for objects of *form*: custom resources have all fields of the hub, whatever the API server's version."""
        minor = max(self.minor, kubernetes_releases.TODAY)
        if not form.custom or (minor == self.minor and not self.gates.off):
            return self
        return dataclasses.replace(self, minor=minor, gates=Gates())

    def __hash__(self) -> int:
        return hash((self.profile, self.minor))  # a cache has one or few settings, and hashes them for each object


class Context:
    """Input of a rule: the object, the old object, and a lookup of other objects."""

    __slots__ = ("__dict__", "_sources", "form", "lookup", "new", "old", "operation", "settings")

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
        sources: tuple[Source, Source] | None = None,
    ) -> None:
        self.form = form
        self.new = new
        self.old = old
        self.operation = operation
        self.settings = settings
        self.lookup = lookup
        self._sources = sources
        if tree is not None:
            self.__dict__["tree"] = tree

    @property
    def creating(self) -> bool:
        """True if the object is created."""
        return self.operation is Operation.CREATE

    def unchanged(self, path: FieldPath) -> bool:
        """Return whether an update leaves the field as it was written, with all that rules do not read; False if the JSON is not known."""
        if self._sources is None:
            return False
        new, old = map(decode.parse, self._sources)
        for part in path.parts:
            new, old = ((each or {}).get(part) for each in (new, old))
        return bool(new == old)

    @property
    def namespace(self) -> str:
        """The namespace of the object."""
        return namespace_of(self.new)

    @property
    def policy_is_fixed(self) -> bool:
        """True if the scheduling policy is immutable: on CompositePodGroups before 1.38, and in retired versions."""
        if self.operation is not Operation.UPDATE:
            return False
        is_composite = isinstance(self.new, CompositePodGroup)
        return self.form.templates_fixed or (is_composite and self.settings.minor < kubernetes_releases.FIRST_WITH_MUTABLE_COMPOSITES)

    @Once
    def templates(self) -> Templates:
        """The templates of the Workload, or the shape of the group; computed once for all rules."""
        new, old = self.new, self.old
        if not isinstance(new, (Workload, PodGroup, CompositePodGroup)):
            raise TypeError(f"a {new.kind} has no templates")
        return Templates(new, old if isinstance(old, type(new)) else None, composites_immutable=not self.settings.gates.enabled(COMPOSITE))

    @property
    def known_templates(self) -> Templates | None:
        """The templates if they were computed."""
        return self.__dict__.get("templates")

    def keep_templates(self, templates: Templates) -> None:
        """Take *templates*, which another context has computed for the same object."""
        self.__dict__["templates"] = templates

    @property
    def traits(self) -> int:
        """The traits of the templates, or of the pod; all traits for other kinds."""
        if isinstance(self.new, Pod):
            return traits.of_pod(self.new.spec)
        return self.templates.traits if isinstance(self.new, (Workload, PodGroup, CompositePodGroup)) else traits.ANY

    @Once
    def tree(self) -> GroupTree:
        """The tree of groups that contains the group."""
        return GroupTree.from_group(self.group, self.lookup)

    @property
    def group(self) -> Group:
        """The object as a group.  Raises TypeError for another object."""
        if not isinstance(self.new, (PodGroup, CompositePodGroup)):
            raise TypeError(f"a {self.new.kind} is no group")
        return self.new

    @property
    def node(self) -> GroupNode:
        """The node of the group in its tree."""
        return self.tree.node(self.group)

    @Once
    def group_pods(self) -> GroupPods | None:
        """The pods of the group; None if it has no name, or if the number of its pods is not known."""
        name = self.new.metadata.name
        return group_pods(self.lookup, self.namespace, name) if name else None

    @property
    def pod_spec(self) -> PodSpec:
        """The spec of the Pod, or of the Job's pod template.

        Raises:
            TypeError: the object has no pod spec.
        """
        if isinstance(self.new, Job):
            return self.new.spec.template.spec
        if isinstance(self.new, Pod):
            return self.new.spec
        raise TypeError(f"a {self.new.kind} has no pod spec")

    @property
    def pod_path(self) -> FieldPath:
        """The path of the pod spec."""
        return FieldPath("spec", "template", "spec") if isinstance(self.new, Job) else FieldPath("spec")

    @Once
    def pods(self) -> tuple[TemplatePods, ...]:
        """The Pod, or the pods of each template of the controller that may name a group; each path once."""
        return tuple({each.path: each for each in controllers.pods_of(self.new)}.values())

    @property
    def device_claim(self) -> tuple[FieldPath, DeviceClaim]:
        """The requested devices of a claim or of a template of claims, with their path.  Raises TypeError for another object."""
        if isinstance(self.new, ResourceClaim):
            return FieldPath("spec", "devices"), self.new.spec.devices
        if isinstance(self.new, ResourceClaimTemplate):
            return FieldPath("spec", "spec", "devices"), self.new.spec.spec.devices
        raise TypeError(f"a {self.new.kind} is no claim")

    @property
    def device_requests(self) -> Iterator[tuple[FieldPath, DeviceSubRequest]]:
        """The exact requests and alternatives of a claim or of a template of claims, each with its path; none of a list that is too long."""
        path, claim = self.device_claim
        requests = claim.requests or ()
        for index, each in enumerate(requests if len(requests) <= MAX_IN_CLAIM else ()):
            if len(each.first_available or ()) <= MAX_ALTERNATIVES:
                yield from each.alternatives(path.join(("requests", index)))

    @property
    def device_selectors(self) -> Iterator[tuple[FieldPath, tuple[DeviceSelector, ...]]]:
        """The lists of selectors of a claim, of a template of claims or of a DeviceClass, each with its path."""
        if isinstance(self.new, DeviceClass):
            owners = [(FieldPath("spec"), self.new.spec.selectors)]
        else:
            owners = [(path, each.selectors) for path, each in self.device_requests]
        return ((path / "selectors", listed) for path, listed in owners if listed)


def no_check(_: Context) -> Iterable[FieldError]:
    """Return no errors: the check of a rule whose errors come from reading files, from the JSON Schema or from the pipeline."""
    return ()
