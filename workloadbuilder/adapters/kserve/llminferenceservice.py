"""Adapter for LLMInferenceService (serving.kserve.io): Deployments, or LeaderWorkerSets where a worker is given.

It has a workload that decodes, one that prefills if that is separate, and a scheduler of requests.  Source: KServe 0.20,
``workload_single_node.go``, ``workload_multi_node.go`` and ``scheduler.go``.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.kserve import llm_configs, model_storage
from workloadbuilder.adapters.shared import object_identity, pod_sets
from workloadbuilder.adapters.shared.adapter_result import Dependent, Loss, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.object_identity import Subject
from workloadbuilder.blueprint import copied

_NAME, _PART_OF, _COMPONENT = (f"app.kubernetes.io/{name}" for name in ("name", "part-of", "component"))
PART_OF = "llminferenceservice"
_WORKLOAD = "llminferenceservice-workload"
_STOP = "serving.kserve.io/stop"
_MANAGED_DEVICES = "serving.kserve.io/exp-dra-device-class"
_PASSED = ("k8s.v1.cni.cncf.io", "kueue.x-k8s.io", "prometheus.io")
"""Beginnings of the labels and annotations of a service that its pods get too."""
_TOKENIZED, _PREDICTED = "precise-prefix-cache-scorer", "predicted-latency-producer"
_TEMPLATE = FieldPath("spec", "template", "spec")
_SCALED = "an autoscaler changes the number of replicas; those of the lower limit are placed"


def adapt(manifest: Json, known: Known) -> Reading:
    """Read an LLMInferenceService; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    given = top.mapping("spec")
    if about.annotations.get(_STOP) == "true":
        return pod_sets.one_by_one(about, [], errors, warnings)
    spec, reason = llm_configs.combined(given, about.namespace, known)
    if "://" not in spec.mapping("model").text("uri"):
        errors.append(
            field.required(spec.path.join(("model", "uri")), "an LLMInferenceService must say where its model is, such as hf://…")
        )
    service = _Service(about, spec)
    reason = reason or service.why_not_known
    return Reading(
        about.owner,
        about.namespace,
        dependents=() if reason else tuple(service.dependents()),
        skipped=reason,
        errors=tuple(errors),
        warnings=tuple(warnings),
        losses=tuple(Loss(each.path / "scaling", _SCALED) for each in service.workloads if "scaling" in each),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Service:
    """Service with its specification after all configurations."""

    about: Subject
    spec: Fields

    @property
    def workloads(self) -> list[Fields]:
        """The workload that decodes, and the one that prefills."""
        return [self.spec, *([self.spec.mapping("prefill")] if "prefill" in self.spec else [])]

    @property
    def _scheduler(self) -> Fields:
        return self.spec.mapping("router").mapping("scheduler")

    @property
    def why_not_known(self) -> str:
        """The reason why the pods of a service are not known; empty if they are."""
        if _MANAGED_DEVICES in self.about.annotations:
            return "the devices that KServe requests for it (managed DRA) are not known"
        tiers = [tier for each in self.workloads for tier in each.mapping("kvCacheOffloading").each_item("secondary")]
        if any("pvc" in tier.mapping("fileSystem") for tier in tiers):
            return "the volumes of its cache (kvCacheOffloading) are not known"
        return "the pods of a latency predictor are not known" if self._configures(_PREDICTED) else ""

    def _configures(self, plugin: str) -> bool:
        return plugin in json.dumps(self._scheduler.mapping("config").raw("inline"), default=str)

    def dependents(self) -> Iterator[Dependent]:
        """Yield the objects that the controller creates."""
        for role, workload in zip(("", "-prefill"), self.workloads, strict=False):
            yield self._several_nodes(workload, role) if "worker" in workload else self._single_node(workload, role)
        if "scheduler" in self.spec.mapping("router") and "ref" not in self._scheduler.mapping("pool"):
            pod: dict[str, Json] = copied(self._scheduler.mapping("template").given)
            if not self._configures(_TOKENIZED):
                containers = [each.given for each in self._scheduler.mapping("template").each_item("containers")]
                pod["containers"] = [copied(each) for each in containers if each.get("name") != "tokenizer"]
            labels = self._labels("llminferenceservice-router-scheduler", self._scheduler)
            replicas = self._scheduler.number("replicas", 1)
            name = f"{self.about.owner.name}-kserve-router-scheduler"
            yield self._deployment(name, replicas, labels, pod, self._scheduler)

    def _single_node(self, workload: Fields, role: str) -> Dependent:
        labels = {**self._labels(f"{_WORKLOAD}{role}", workload), **self._role(role)}
        pod = self._pod(workload.mapping("template"))
        return self._deployment(f"{self.about.owner.name}-kserve{role}", _replicas(workload), labels, pod, workload)

    def _deployment(self, name: str, replicas: int, labels: Mapping[str, str], pod: dict[str, Json], part: Fields) -> Dependent:
        template = {"metadata": {"labels": dict(labels), "annotations": self._annotations(part)}, "spec": pod}
        selector = {key: labels[key] for key in (_COMPONENT, _NAME, _PART_OF)}
        spec = {"replicas": replicas, "selector": {"matchLabels": selector}, "template": template}
        manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": dict(labels)}, "spec": spec}
        return Dependent(pod_sets.owned(manifest, self.about.owner), part.path / "template", _TEMPLATE)

    def _several_nodes(self, workload: Fields, role: str) -> Dependent:
        """Return the LeaderWorkerSet of a workload; without a template, its leader is as its workers."""
        templates: dict[str, Json] = {}
        for name, source, part in (("leaderTemplate", "template", "leader"), ("workerTemplate", "worker", "worker")):
            if source in workload:
                serves = part == "leader" or "template" not in workload
                labels = {**self._labels(f"{_WORKLOAD}-{part}{role}", workload), **(self._role(role) if serves else {})}
                metadata = {"labels": labels, "annotations": self._annotations(workload)}
                templates[name] = {"metadata": metadata, "spec": self._pod(workload.mapping(source))}
        size = _size(workload)
        if role and size is not None and llm_configs.is_data_parallel(workload):
            templates["subGroupPolicy"] = {"subGroupSize": size}
        inner = {**templates, **({} if size is None else {"size": size}), "restartPolicy": "RecreateGroupOnPodRestart"}
        manifest = {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "metadata": {"name": f"{self.about.owner.name}-kserve-mn{role}", "labels": self._passed(self.about.labels)},
            "spec": {"replicas": _replicas(workload), "startupPolicy": "LeaderCreated", "leaderWorkerTemplate": inner},
        }
        return Dependent(pod_sets.owned(manifest, self.about.owner), workload.path, FieldPath("spec"))

    def _pod(self, template: Fields) -> dict[str, Json]:
        """Return the specification of the pods of a *template*, with what the model needs."""
        pod: dict[str, Json] = copied(template.given)
        # A configuration of its own can have this container already.
        loaders = [each for each in template.each_item("initContainers") if each.text("name") == "storage-initializer"]
        initializer = self.spec.mapping("storageInitializer")
        if not loaders and initializer.raw("enabled") is not False:
            model = self.spec.mapping("model")
            model_storage.attach(pod, model.text("uri"))
            for each in model.mapping("lora").each_item("adapters"):
                if each.text("uri").startswith(model_storage.PVC):
                    model_storage.attach(pod, each.text("uri"))
        return pod

    def _labels(self, component: str, part: Fields) -> dict[str, str]:
        own = {_COMPONENT: component, _NAME: self.about.owner.name, _PART_OF: PART_OF}
        return {**self._passed(self.about.labels), **part.annotations("labels"), **own}

    def _role(self, role: str) -> dict[str, str]:
        """Return the labels by which requests find the pods of a workload."""
        name = role.removeprefix("-") or ("decode" if "prefill" in self.spec else "both")
        return {"kserve.io/component": "workload", "llm-d.ai/role": name}

    def _annotations(self, part: Fields) -> dict[str, str]:
        return {**self._passed(self.about.annotations), **part.annotations()}

    def _passed(self, given: Mapping[str, str]) -> dict[str, str]:
        return {key: value for key, value in given.items() if key.startswith(_PASSED)}


def _replicas(workload: Fields) -> int:
    """Return the number of replicas that a workload has first."""
    if "scaling" in workload:
        return max(workload.mapping("scaling").number("minReplicas", 1), 1)
    return workload.number("replicas", 1)


def _size(workload: Fields) -> int | None:
    """Return the pods of one replica of several nodes; None: the default of LeaderWorkerSets."""
    parallelism = workload.mapping("parallelism")
    if llm_configs.is_data_parallel(workload):
        return max(max(parallelism.number("data", 1), 1) // max(parallelism.number("dataLocal", 1), 1), 1)
    return parallelism.number("pipeline", 0) or None
