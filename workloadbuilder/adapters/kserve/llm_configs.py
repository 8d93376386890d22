"""Configurations that an LLMInferenceService is merged with: those that it names, and the presets of KServe for what it uses.

Presets are those in the input, or else what KServe 0.20 ships, as far as it decides on pods (``config/llmisvcconfig``).  Source:
``config_merge.go``.
"""

from __future__ import annotations

from kubeapi.decode import Json
from validators import field
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.strategic_merge import merged
from workloadbuilder.workload_item import WHOLE

GROUP = "serving.kserve.io"
_KIND = "LLMInferenceServiceConfig"
_SYSTEM = "kserve"
_IMAGE = "image-of-the-preset"
_PROBES = {each: {"httpGet": {"path": "/health", "port": 8000}} for each in ("livenessProbe", "readinessProbe", "startupProbe")}
"""Probes that a service can change in part."""
_MAIN = {"containers": [{"name": "main", "image": _IMAGE, **_PROBES}]}
_WITH_SIDECAR = {**_MAIN, "initContainers": [{"name": "llm-d-routing-sidecar", "image": _IMAGE, "restartPolicy": "Always"}]}
_SCHEDULER = {
    "containers": [
        {
            "name": "main",
            "image": _IMAGE,
            "resources": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"cpu": "6", "memory": "16Gi"}},
        },
        {"name": "tokenizer", "image": _IMAGE, "resources": {"requests": {"cpu": "256m", "memory": "500Mi"}}},
    ]
}
_SHIPPED: dict[str, Json] = {
    "template": {"template": _MAIN},
    "decode-template": {"template": _WITH_SIDECAR},
    "worker-data-parallel": {"template": _MAIN, "worker": _MAIN},
    "decode-worker-data-parallel": {"template": _WITH_SIDECAR, "worker": _MAIN},
    "prefill-template": {"prefill": {"template": _MAIN}},
    "prefill-worker-data-parallel": {"prefill": {"template": _MAIN, "worker": _MAIN}},
    "scheduler": {"router": {"scheduler": {"template": _SCHEDULER}}},
}
"""Presets that KServe ships, by the end of their names."""


def is_data_parallel(workload: Fields) -> bool:
    """Return whether the ranks of a workload have the data in parallel."""
    parallelism = workload.mapping("parallelism")
    return parallelism.number("data", 0) > 0 or parallelism.number("dataLocal", 0) > 0


def combined(spec: Fields, namespace: str, known: Known) -> tuple[Fields, str]:
    """Return the *spec* of a service merged with its configurations; or also the reason why one of them is not known."""
    own = spec.given
    resolved: Json = own
    named = []
    for each in spec.each_item("baseRefs"):
        config = _config(each.text("name"), namespace, known)
        if config is None:
            detail = f"there must be a {_KIND} of this name in the input{known.suggest(GROUP, _KIND, namespace, each.text('name'))}"
            spec.errors.append(field.not_found(each.path / "name", each.text("name"), detail))
            continue
        named.append(config)
        resolved = merged(resolved, config)
    presets = []
    for name in _presets(Fields(resolved, spec.path, [])):
        config = _config(f"kserve-config-llm-{name}", namespace, known)
        preset = _SHIPPED.get(name) if config is None else config
        if preset is None:
            return spec, f"it needs the {_KIND} kserve-config-llm-{name}, which is not in the input, and which KServe does not ship"
        presets.append(preset)
    result: Json = {}
    for each in (*presets, *named, own):
        result = merged(result, each)
    return Fields(result, spec.path, spec.errors), ""


def _config(name: str, namespace: str, known: Known) -> Json:
    """Return the specification of a configuration of the namespace, or of that of KServe; None if there is none."""
    for space in (namespace, namespace or "default", _SYSTEM):
        if (config := known.get(GROUP, _KIND, space, name)) is not None:
            return Fields(config, WHOLE, []).mapping("spec").given
    return None


def _presets(spec: Fields) -> list[str]:
    """Return the ends of the names of the presets for what a service uses."""
    router, prefill = spec.mapping("router"), spec.mapping("prefill")
    found = []
    if "scheduler" in router and "ref" not in router.mapping("scheduler").mapping("pool"):
        found.append("scheduler")
    if "prefill" in spec:
        found += _of_workload(prefill, "prefill-")
    return [*found, *_of_workload(spec, "decode-" if "prefill" in spec else "")]


def _of_workload(workload: Fields, prefix: str) -> list[str]:
    if "worker" not in workload:
        return [f"{prefix}template"]
    if is_data_parallel(workload):
        return [f"{prefix}worker-data-parallel"]
    return [f"{prefix}worker-pipeline-parallel"] if workload.mapping("parallelism").number("pipeline", 0) > 0 else []
