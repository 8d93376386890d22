"""Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeapi import content
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from validators import field
from validators.built_in import pod_spec, selectors, volume_claims
from validators.built_in.shared_checks import Content, formatted, items, needed, not_negative, number, one_of, text
from validators.field import FieldError

_SPEC = FieldPath("spec")
_TEMPLATE = _SPEC / "template"
_LABELS = _TEMPLATE.join(("metadata", "labels"))
_COUNTS = ("replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
_DEADLINE_SECONDS = 600
"""Default of ``progressDeadlineSeconds``."""
_ROLLING = "RollingUpdate"
_MISMATCH = "`selector` does not match template `labels`"


def controller(manifest: Content) -> Iterator[FieldError]:
    """Yield the errors of a controller of apps/v1."""
    spec, kind = section(manifest, "spec"), text(manifest, "kind")
    yield from not_negative(spec, _SPEC, *_COUNTS)
    yield from _selector(spec, kind)
    claims = [text(section(each, "metadata"), "name") for _, each in items(spec, "volumeClaimTemplates", _SPEC)]
    template = section(spec, "template")
    yield from _template({**template, "spec": with_volumes(section(template, "spec"), claims)}, kind)
    if kind == "StatefulSet":
        yield from _stateful_set(spec)
    elif kind in {"Deployment", "DaemonSet"}:
        deadline = number(spec, "progressDeadlineSeconds", _DEADLINE_SECONDS)
        if kind == "Deployment" and deadline <= number(spec, "minReadySeconds"):
            yield field.invalid(_SPEC / "progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")
        yield from _strategy(spec, "strategy" if kind == "Deployment" else "updateStrategy", kind)


def replication_controller(manifest: Content) -> Iterator[FieldError]:
    """Yield the errors of a ReplicationController, whose selector is by default the labels of its pods."""
    spec = section(manifest, "spec")
    yield from not_negative(spec, _SPEC, *_COUNTS)
    labels = section(spec, "template", "metadata", "labels")
    selector = section(spec, "selector") or labels
    if not selector:
        yield field.required(_SPEC / "selector")
    if spec.get("template") is None:
        yield field.required(_TEMPLATE)
        return
    if any(labels.get(key) != value for key, value in selector.items()):
        yield field.invalid(_LABELS, dict(labels), _MISMATCH)
    yield from _template(section(spec, "template"), "ReplicationController")


def _selector(spec: Content, kind: str) -> Iterator[FieldError]:
    at, selector = _SPEC / "selector", section(spec, "selector")
    if spec.get("selector") is None:
        yield field.required(at, "it must match the labels of the pod template")
        return
    errors = [*selectors.label_selector(selector, at)]
    yield from errors
    if selectors.is_empty(selector):
        yield field.invalid_struct(at, f"empty selector is invalid for {kind.lower()}")
    elif not errors and not selectors.matches(selector, labels := section(spec, "template", "metadata", "labels")):
        yield field.invalid(_LABELS, dict(labels), _MISMATCH)


def _template(template: Content, kind: str) -> Iterator[FieldError]:
    yield from pod_spec.template(template, _TEMPLATE)
    pod, at = section(template, "spec"), _TEMPLATE / "spec"
    if (policy := text(pod, "restartPolicy")) not in {"", "Always"}:
        yield field.not_supported(at / "restartPolicy", policy, ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        yield field.forbidden(at / "activeDeadlineSeconds", f"activeDeadlineSeconds in {kind} is not Supported")


def with_volumes(pod: Content, claims: Iterable[str]) -> Content:
    """Return the specification of a pod with the volumes that its controller adds for *claims*."""
    names = {*claims} - {""}
    if not names:
        return pod
    own = [each for _, each in items(pod, "volumes", _SPEC) if each.get("name") not in names]
    added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in sorted(names)]
    return {**pod, "volumes": [*own, *added]}


def _stateful_set(spec: Content) -> Iterator[FieldError]:
    if (management := spec.get("podManagementPolicy")) not in (None, "", "OrderedReady", "Parallel"):
        yield field.invalid(_SPEC / "podManagementPolicy", management, "must be 'OrderedReady' or 'Parallel'")
    strategy, at = section(spec, "updateStrategy"), _SPEC / "updateStrategy"
    kind = text(strategy, "type") or _ROLLING
    if kind not in {_ROLLING, "OnDelete", "Recreate"}:
        yield field.invalid(at, kind, "must be 'RollingUpdate' or 'OnDelete'")
    elif kind != _ROLLING and strategy.get("rollingUpdate") is not None:
        yield field.invalid_struct(at / "rollingUpdate", "only allowed for updateStrategy 'RollingUpdate'")
    if name := text(spec, "serviceName"):
        yield from formatted(name, _SPEC / "serviceName", content.label(name))
    yield from not_negative(section(strategy, "rollingUpdate"), at / "rollingUpdate", "partition")
    yield from not_negative(section(spec, "ordinals"), _SPEC / "ordinals", "start")
    for name in ("whenDeleted", "whenScaled"):
        retention = "persistentVolumeClaimRetentionPolicy"
        yield from one_of(section(spec, retention), name, _SPEC / retention, ("Retain", "Delete"))
    for path, each in items(spec, "volumeClaimTemplates", _SPEC):
        metadata = section(each, "metadata")
        yield from needed(metadata, path / "metadata", "name", detail="it is the name of a volume too")
        if name := text(metadata, "name"):
            yield from formatted(name, path.join(("metadata", "name")), content.label(name))
        yield from volume_claims.claim_spec(section(each, "spec"), path / "spec")


def _strategy(spec: Content, name: str, kind: str) -> Iterator[FieldError]:
    strategy, at = section(spec, name), _SPEC / name
    other = "Recreate" if kind == "Deployment" else "OnDelete"
    chosen = text(strategy, "type") or _ROLLING
    if chosen not in {_ROLLING, other}:
        yield field.not_supported(at / "type", chosen, (other, _ROLLING))
    rolling = section(strategy, "rollingUpdate")
    if kind == "Deployment" and chosen == other and strategy.get("rollingUpdate") is not None:
        yield field.forbidden(at / "rollingUpdate", f"may not be specified when strategy `type` is '{other}'")
    if chosen != _ROLLING or not rolling:
        return
    unavailable, surge = _share(rolling, "maxUnavailable", 1), _share(rolling, "maxSurge", 1 if kind == "Deployment" else 0)
    path = at / "rollingUpdate"
    for each, share in (("maxUnavailable", unavailable), ("maxSurge", surge)):
        if share is None or share < 0:
            yield field.invalid(path / each, rolling[each], "must be a non-negative integer or a percentage (e.g. '5%')")
    if unavailable == 0 and surge == 0:
        yield field.invalid(path / "maxUnavailable", rolling.get("maxUnavailable"), "may not be 0 when `maxSurge` is 0")
    if kind == "DaemonSet" and unavailable and surge:
        yield field.invalid(path / "maxSurge", rolling.get("maxSurge"), "may not be set when maxUnavailable is non-zero")


def _share(rolling: Content, name: str, default: int) -> int | None:
    """Return a number or percentage; None if it is neither."""
    value = rolling.get(name, default)
    if isinstance(value, str):
        return content.whole_number(value.removesuffix("%")) if value.endswith("%") else None
    return value if isinstance(value, int) else None
