"""Admission of new pods: what the API server sets in them, and the reasons why it would refuse them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from expansion.admission import limit_ranges, pod_defaults, quotas, validation
from expansion.admission.admission_plugins import AdmissionPlugins
from expansion.admission.limit_ranges import LimitRanges
from expansion.admission.service_accounts import account_refusals
from expansion.contents import Content, items, namespace_of, parsed
from kubeapi.base_structs import Record, record_field
from kubeapi.decode import section
from kubeapi.gather import ADMISSION_KINDS, by_name, left_out, whole_name, written_name
from kubeapi.gathered import Objects
from kubeapi.priority import SYSTEM_CLASSES
from kubeapi.problem import Problem

QUOTAS = "ResourceQuota"
_KINDS = (*ADMISSION_KINDS, "PriorityClass", "Namespace")
_SYSTEM_CLASSES: Mapping[str, Content] = {name: {"value": each.value} for name, each in SYSTEM_CLASSES.items()}
_ADMIN = "resource.kubernetes.io/admin-access"
_NO_RANGES = LimitRanges()
_EVERYWHERE = "default"
"""Namespace that every cluster has."""


class Rules(Record, frozen=True):
    """Objects of a cluster that admission reads: by namespace, or by name."""

    limits: Mapping[str, LimitRanges]
    quotas: Mapping[str, Sequence[Content]]
    runtimes: Mapping[str, Content]
    default_class: str
    strict: bool = False
    """True if pods are validated too, and the classes, those of runtimes too, and the namespaces below are all that exist."""
    classes: Mapping[str, Content] | None = None
    """Priority classes by name; None if they are not known."""
    namespaces: frozenset[str] | None = None
    """None if they are not known."""
    terminating: frozenset[str] = frozenset()
    """The namespaces that are being deleted."""
    accounts: Mapping[str, frozenset[str]] = record_field(default_factory=dict)
    """Names of the ServiceAccounts of each namespace of which all are known."""
    administrative: frozenset[str] = frozenset()
    """The namespaces with the label that allows admin access to devices."""
    unread: tuple[Problem, ...] = ()
    """Objects with fields that cannot be read, and are not applied."""
    plugins: AdmissionPlugins = record_field(default_factory=AdmissionPlugins)
    """Admission plugins that are on besides those of an API server without options."""
    described_namespaces: frozenset[str] = frozenset()
    """The namespaces whose annotations are known."""

    @classmethod
    def from_objects(
        cls,
        sources: Iterable[Mapping[str, Objects]],
        *,
        strict: bool = False,
        accounts: Mapping[str, frozenset[str]] | None = None,
        plugins: Collection[str] = (),
    ) -> Rules:
        """Return the rules among *sources*, objects by kind; of objects with one name, that of the first source is used.

        *plugins* are the admission plugins that are on.  If *strict*, the objects are all that the cluster has of their kinds.  Namespaces are known only if there is the one of
        every cluster; in a redacted snapshot it has another name, and so have the classes.
        """
        read: dict[str, dict[tuple[str, str], Content]] = {kind: {} for kind in _KINDS}
        unread: list[Problem] = []
        for kinds in sources:
            for kind in _KINDS:
                found = list[Problem]()
                for (namespace, name), gathered in by_name(kinds[kind], found).items():
                    if whole_name(gathered) is None:
                        found.append(left_out(kind, written_name(gathered.text), "metadata.name is missing"))
                    elif (content := parsed(gathered)) is not None:
                        read[kind].setdefault((namespace, name), content)
                # The readers of the other kinds report them.
                unread += found if kind in ADMISSION_KINDS else ()
        runtimes = {name: each for (_, name), each in read["RuntimeClass"].items()}
        default = pod_defaults.default_class(read["PriorityClass"].values())
        classes = {**_SYSTEM_CLASSES, **{name: each for (_, name), each in read["PriorityClass"].items()}}
        namespaces = frozenset(name for _, name in read["Namespace"])
        redacted = bool(namespaces) and _EVERYWHERE not in namespaces
        return cls(
            {namespace: LimitRanges(listed) for namespace, listed in _by_namespace(read["LimitRange"]).items()},
            _by_namespace(read[QUOTAS]),
            runtimes,
            default,
            strict,
            classes if strict and not redacted else None,
            namespaces if strict and namespaces and not redacted else None,
            frozenset(name for (_, name), each in read["Namespace"].items() if section(each, "metadata").get("deletionTimestamp")),
            accounts or {},
            frozenset(
                name for (_, name), each in read["Namespace"].items() if section(section(each, "metadata"), "labels").get(_ADMIN) == "true"
            ),
            (
                *unread,
                *limit_ranges.unusable(read["LimitRange"].values()),
                *quotas.unusable(read[QUOTAS].values()),
                *pod_defaults.unusable(read["RuntimeClass"].values()),
            ),
            AdmissionPlugins(plugins, _annotations(read["Namespace"])),
            frozenset() if redacted else namespaces,
        )

    def __bool__(self) -> bool:
        return self.strict or bool(self.plugins or self.limits or self.quotas or self.runtimes or self.default_class)

    def admit(self, pod: Content, *, created: bool = False, by_operator: bool = False) -> list[str]:
        """Set what admission sets in a new *pod*, which can be *created* by a controller; return the reasons why it would be refused.

        If *by_operator*, its controller can also create its ServiceAccount.  The reasons are those of the first step of the API server
        that refuses it: mutation, validation, validating admission.
        """
        ranges = self.limits.get(namespace_of(pod)) or _NO_RANGES
        refusals = [*self.missing(pod)]
        limit_ranges.set_requests(pod)
        ranges.set_defaults(pod)
        pod_defaults.set_class(pod, self.default_class)
        refusals += self.plugins.change(pod)
        refusals += () if by_operator else account_refusals(pod, namespace_of(pod), self.accounts)
        refusals += pod_defaults.set_runtime(pod, self.runtimes, known=bool(self.runtimes) or self.classes is not None)
        # A simulation leaves out given pods with such a label.
        refusals += map(validation.described, validation.errors_of_label(pod) if created or self.strict else ())
        if not refusals and self.strict:
            refusals = [*map(validation.described, validation.errors_of_pod(pod, created=created))] or [
                *pod_defaults.unfounded_overhead(pod, self.runtimes)
            ]
        return refusals or [*self.plugins.violations(pod), *ranges.violations(pod)]

    def missing(self, content: Content) -> Iterator[str]:
        """Yield the reasons why a new pod or group would be refused for its namespace or its priority class."""
        namespace = namespace_of(content)
        if self.namespaces is not None and namespace not in self.namespaces:
            yield f'namespaces "{namespace}" not found'
        elif self.strict and namespace in self.terminating:
            yield f"unable to create new content in namespace {namespace} because it is being terminated"
        elif self.classes is not None:
            yield from pod_defaults.priority_refusals(content, self.classes, self.default_class)

    def without_admin_access(self, claim: Content) -> Iterator[str]:
        """Yield the reason why a new claim to devices, or template of claims, would be refused: admin access is not allowed."""
        if self.namespaces is None or namespace_of(claim) in self.administrative:
            return
        spec = section(claim, "spec")
        for index, request in enumerate(items(section(section(spec, "spec") or spec, "devices"), "requests")):
            # In v1beta1, an exact request has no section of its own.
            if (section(request, "exactly") or request).get("adminAccess") is True:
                path = f"spec.devices.requests[{index}].adminAccess"
                yield f"{path}: Forbidden: admin access to devices requires the `{_ADMIN}: true` label on the containing namespace"
                return


def _annotations(namespaces: Mapping[tuple[str, str], Content]) -> dict[str, Mapping[str, Any]]:
    return {name: section(section(each, "metadata"), "annotations") for (_, name), each in namespaces.items()}


def _by_namespace(objects: Mapping[tuple[str, str], Content]) -> dict[str, list[Content]]:
    by_namespace: dict[str, list[Content]] = {}
    for (namespace, _), each in sorted(objects.items(), key=lambda item: item[0]):
        by_namespace.setdefault(namespace, []).append(each)
    return by_namespace
