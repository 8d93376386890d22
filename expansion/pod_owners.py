"""Pods and groups of a cluster that belong to given controllers: by owner, by label, or by the Workload of the controller."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

from kubeapi import decode
from kubeapi.base_structs import Record
from kubeapi.decode import section
from kubeapi.decoders import DECODERS
from kubeapi.gathered import GatheredObjects, Objects, content_of, heads
from kubeapi.meta import OwnerReference
from kubeapi.names import Name
from kubeapi.pods import PodMeta, group_in
from validators.built_in import selectors as label_selectors

_LABELS: Mapping[str, tuple[str, str]] = {
    "JobSet": ("jobset.sigs.k8s.io/jobset-name", "{}"),
    "TrainJob": ("jobset.sigs.k8s.io/jobset-name", "{}"),
    "LeaderWorkerSet": ("leaderworkerset.sigs.k8s.io/name", "{}"),
    "PodCliqueSet": ("app.kubernetes.io/part-of", "{}"),
    "RayCluster": ("ray.io/cluster", "{}"),
    **dict.fromkeys(("RayJob", "RayService"), ("ray.io/cluster", "{}-(raycluster-)?[a-z0-9]{{5}}")),
    "SparkApplication": ("sparkoperator.k8s.io/app-name", "{}"),
    "ScheduledSparkApplication": ("sparkoperator.k8s.io/app-name", "{}-[0-9]+"),
    "InferenceService": ("serving.kserve.io/inferenceservice", "{}"),
    "LLMInferenceService": ("app.kubernetes.io/name", "{}"),
    "Workflow": ("workflows.argoproj.io/workflow", "{}"),
    "CronWorkflow": ("workflows.argoproj.io/workflow", "{}-[0-9]+"),
    "AppWrapper": ("workload.codeflare.dev/appwrapper", "{}"),
    **dict.fromkeys(("MPIJob", "PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob"), ("training.kubeflow.org/job-name", "{}")),
}
"""Label of the pods by kind of the controller, and the pattern of its value by the controller's name."""
_OWN_LABELS = frozenset(label for label, _ in _LABELS.values())
_ALSO = {
    "LLMInferenceService": ("app.kubernetes.io/component", "llminferenceservice-"),
    "PodCliqueSet": ("grove.io/podclique", ""),
}
"""Label that the pods have too, and the beginning of its value, by kind of the controller, where other tools use the first label."""
_BETWEEN: Mapping[str, tuple[str, str]] = {
    "Deployment": ("ReplicaSet", "{}-[a-z0-9]{{1,10}}"),
    "CronJob": ("Job", "{}-(2[4-9]|[3-9][0-9])[0-9]{{6}}"),
    "MPIJob": ("Job", "{}-launcher"),
    "RayJob": ("Job", "{}"),
}
"""Kind and name of the objects between a controller and its pods, which a snapshot may lack.

The name of a CronJob's Job ends with its time in minutes, which is a number from 24,000,000 (2015) to 99,999,999 (2160).  A date such as
20260131 is no such number.
"""
_GROUPS_BETWEEN = {"ReplicaSet": "apps", "Job": "batch"}
"""API groups of these kinds."""
_HASH = "pod-template-hash"
_GROUPS = frozenset({"PodGroup", "CompositePodGroup"})
OWNED_BY_WORKLOAD = frozenset({"Workload", *_GROUPS})
"""Kinds whose objects a controller can own without its name in them; others name it, or have a name that begins with it and a dash."""


@dataclasses.dataclass(frozen=True, slots=True)
class Controller:
    """Kind, namespace (never empty), name and API group of a controller.  Projects have kinds of one name, such as Volcano's Job."""

    kind: str
    namespace: str
    name: str
    group: str = dataclasses.field(default="", compare=False)

    def is_named_by(self, kind: str, group: str) -> bool:
        """Return whether a reference to an object of its name means it; in a reference of older snapshots, *group* is empty."""
        return kind == self.kind and group in ("", self.group)

    @property
    def object(self) -> Name:
        """Return its kind, namespace and name."""
        return Name(self.kind, self.namespace, self.name)


class _Test(Record, frozen=True):
    label: str
    value: re.Pattern[str]
    kind: str
    name: re.Pattern[str]

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether *name* is that of an object between the controller and a pod with *labels*."""
        # The name of a Deployment's ReplicaSet ends with a hash, which its pods have as a label.
        ending = f"-{labels.get(_HASH)}" if self.kind == "ReplicaSet" else ""
        return bool(self.name.fullmatch(name)) and name.endswith(ending)


class PodOwners:
    """Test for objects that belong to one of *controllers*, among all the objects *kinds* of a cluster.

    *selectors* are those of Deployments, whose pods have a ReplicaSet between that may be unknown.
    """

    def __init__(
        self,
        controllers: Iterable[Controller],
        kinds: Mapping[str, Objects],
        selectors: Mapping[Controller, Mapping[str, Any]] | None = None,
    ) -> None:
        self._controllers: dict[str, list[Controller]] = {}
        for each in controllers:
            self._controllers.setdefault(each.namespace, []).append(each)
        self._direct: dict[tuple[str, str], list[Controller]] = {}
        for listed in self._controllers.values():
            for each in listed:
                self._direct.setdefault((each.namespace, each.name), []).append(each)
        self._order = {each: place for listed in self._controllers.values() for place, each in reversed([*enumerate(listed)])}
        self._tests = {each: _test(each) for listed in self._controllers.values() for each in listed}
        self._workloads: dict[tuple[str, str], Controller] = {}
        self._pod_groups: dict[tuple[str, str], Controller] = {}
        if self._direct:
            self._read_groups(kinds)
        self.names = frozenset((*(each.name for each in self._tests), *(name for _, name in self._pod_groups)))
        """Names of the controllers and of their groups."""
        self._selectors = {each: given for each, given in (selectors or {}).items() if section(given, "matchLabels")}
        values = (str(value) for given in self._selectors.values() for value in [*section(given, "matchLabels").values()][:1])
        marks = sorted({*self.names, *values} - {""})
        self._marks = re.compile(b"|".join(re.escape(name.encode()) for name in marks)) if marks else None

    def _read_groups(self, kinds: Mapping[str, Objects]) -> None:
        for each in kinds["Workload"]:
            reference = section(_fields(each.text, "spec"), "controllerRef")
            named = _namespace(each), str(reference.get("name"))
            owner = self._named(*named, str(reference.get("kind")), str(reference.get("apiGroup") or ""))
            if owner is not None:
                self._workloads[_namespace(each), _name(each)] = owner
        for each in kinds["PodGroup"]:
            if self._workloads and (owner := self._by_workload(each)) is not None:
                self._pod_groups[_namespace(each), _name(each)] = owner

    def mentions(self, text: decode.Text) -> bool:
        """Return whether the name of a controller, or of its group, is in *text*: otherwise it owns no object with that text."""
        return self._marks is not None and self._marks.search(text) is not None

    def owner(self, gathered: GatheredObjects) -> Controller | None:
        """Return the controller to which an object belongs; None if it belongs to none of them."""
        if not self.mentions(gathered.text):
            return None
        if gathered.kind == "Pod":
            return self._of_pod(gathered)
        if gathered.kind == "Workload":
            return self._workloads.get((_namespace(gathered), _name(gathered)))
        if gathered.kind in _GROUPS:
            return self._by_workload(gathered)
        if gathered.kind == "ReplicaSet":
            meta = _meta(gathered)
            return None if meta is None else self._owning(meta, meta.namespace or "default")
        return None

    def has_other_owner(self, gathered: GatheredObjects) -> bool:
        """Return whether an object is a pod of a controller that is none of these."""
        if gathered.kind != "Pod" or (meta := _meta(gathered)) is None:
            return False
        return any(each.controller for each in meta.owner_references or ()) and self.owner(gathered) is None

    def _of_pod(self, gathered: GatheredObjects) -> Controller | None:
        meta = _meta(gathered)
        if meta is None or (namespace := meta.namespace or "default") not in self._controllers:
            return None
        if (owner := self._owning(meta, namespace)) is not None:
            return owner
        if self._pod_groups:
            group = group_in({"spec": _fields(gathered.text, "spec"), "metadata": {"labels": meta.labels}})
            return self._pod_groups.get((namespace, group))
        return None

    def _named(self, namespace: str, name: str, kind: str, group: str) -> Controller | None:
        return next((each for each in self._direct.get((namespace, name), ()) if each.is_named_by(kind, group)), None)

    def _owning(self, meta: PodMeta, namespace: str) -> Controller | None:
        references = [each for each in meta.owner_references or () if each.controller]
        for each in references:
            if (direct := self._named(namespace, each.name, each.kind, _group(each.api_version))) is not None:
                return direct
        labels = meta.labels or {}
        texts = [*(labels[each] for each in _OWN_LABELS & labels.keys()), *(each.name for each in references)]
        for controller in self._named_in(texts, namespace):
            test = self._tests[controller]
            also, beginning = _ALSO.get(controller.kind, (test.label, ""))
            has_label = bool(test.label) and test.value.fullmatch(labels.get(test.label, ""))
            if has_label and also in labels and labels[also].startswith(beginning):
                return controller
            between = [
                each for each in references if each.kind == test.kind and _group(each.api_version) in ("", _GROUPS_BETWEEN[test.kind])
            ]
            if any(test.matches(each.name, labels) for each in between):
                return controller
        return self._selecting(references, labels, namespace)

    def _selecting(self, references: Iterable[OwnerReference], labels: Mapping[str, str], namespace: str) -> Controller | None:
        """Return the Deployment whose selector matches the labels of a pod that belongs to a ReplicaSet; None if there is none."""
        if not any(each.kind == "ReplicaSet" for each in references):
            return None
        own = (each for each in self._selectors if each.namespace == namespace)
        return next((each for each in own if label_selectors.matches(self._selectors[each], labels)), None)

    def _named_in(self, texts: Iterable[str], namespace: str) -> list[Controller]:
        """Return the controllers of which a name in *texts* can begin with the name, in order: a test compares no others."""
        names = {head for text in texts for head in (text, *heads(text))}
        found = {each for name in names for each in self._direct.get((namespace, name), ())}
        return sorted(found, key=self._order.__getitem__)

    def _by_workload(self, gathered: GatheredObjects) -> Controller | None:
        spec = _fields(gathered.text, "spec")
        named = section(spec, "workloadRef").get("workloadName")
        named = named or section(section(spec, "podGroupTemplateRef"), "workload").get("workloadName")
        return self._workloads.get((_namespace(gathered), str(named)))


def _test(controller: Controller) -> _Test:
    label, value = _LABELS.get(controller.kind, ("", ""))
    kind, name = _BETWEEN.get(controller.kind, ("", ""))
    quoted = re.escape(controller.name)
    return _Test(label, re.compile(value.format(quoted)), kind, re.compile(name.format(quoted)))


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _meta(gathered: GatheredObjects) -> PodMeta | None:
    try:
        return DECODERS[PodMeta].decode(decode.FIELDS.decode(gathered.text)["metadata"])  # type: ignore[no-any-return]
    except (ValueError, KeyError, RecursionError):
        # The reader of the object reports the problem.
        return None


def _fields(text: decode.Text, name: str) -> Mapping[str, object]:
    try:
        return content_of(decode.FIELDS.decode(text)[name])
    except (ValueError, KeyError, RecursionError):
        return {}


def _namespace(gathered: GatheredObjects) -> str:
    meta = _meta(gathered)
    return (meta.namespace if meta else "") or "default"


def _name(gathered: GatheredObjects) -> str:
    meta = _meta(gathered)
    return meta.name if meta else ""
