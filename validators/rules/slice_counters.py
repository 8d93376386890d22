"""A slice has devices or at most 8 sets of counters; a device consumes counters of at most 2 sets; a set has at most 32 counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubeapi import content
from kubeapi.devices import Counter
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from validators.model import slices
from validators.model.templates import SPEC
from validators.model.views import ResourceSlice
from validators.rules import checks
from validators.rules.base import Context, Example, Rule

_MOST_SETS, _MOST_CONSUMED, _MOST_COUNTERS = 8, 2, 32


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at sets of counters, and at the counters that devices consume."""
    if not isinstance(context.new, ResourceSlice):
        return
    spec = context.new.spec
    shared = spec.shared_counters
    if shared is not None and spec.devices is not None:
        yield field.invalid(SPEC, "", "only one of `sharedCounters` or `devices` is allowed")
    yield from _sets(SPEC / "sharedCounters", "name", [(each.name, each.counters) for each in shared or ()], _MOST_SETS)
    for path, device in slices.judged_contents(spec):
        consumed = [(each.counter_set, each.counters) for each in device.consumes_counters or ()]
        yield from _sets(path / "consumesCounters", "counterSet", consumed, _MOST_CONSUMED)


def _sets(path: FieldPath, name_field: str, sets: Sequence[tuple[str, Mapping[str, Counter] | None]], most: int) -> Iterator[FieldError]:
    if len(sets) > most:
        yield field.too_many(path, len(sets), most)
        return
    seen: set[str] = set()
    for index, (name, counters) in enumerate(sets):
        if not name:
            yield field.required(path.join((index, name_field)))
        else:
            yield from checks.messages(path.join((index, name_field)), name, content.label)
        if name in seen:
            yield field.duplicate(path / index, name)
        seen.add(name)
        yield from _counters(path.join((index, "counters")), counters or {})


def _counters(path: FieldPath, counters: Mapping[str, Counter]) -> Iterator[FieldError]:
    if not counters:
        yield field.required(path)
    elif len(counters) > _MOST_COUNTERS:
        yield field.too_many(path, len(counters), _MOST_COUNTERS)
    else:
        for name in counters:
            yield from checks.messages(path, name, content.label)


_SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-partitions}
spec:
  driver: gpu.example.com
  pool: {name: n1, generation: 1, resourceSliceCount: 2}
  nodeName: n1
  devices:
  - name: half-0
    consumesCounters:
    - {counterSet: gpu-0, counters: {memory: {value: 40Gi}}}
"""
_COUNTERS = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-counters}
spec:
  driver: gpu.example.com
  pool: {name: n1, generation: 1, resourceSliceCount: 2}
  nodeName: n1
  sharedCounters:
  - {name: gpu-0, counters: {memory: {value: 80Gi}}}
"""

RULE = Rule(
    id="slice-counters",
    kinds=frozenset({"ResourceSlice"}),
    why="The API server refuses other slices, so that the partitions of a device cannot be allocated.",
    source="Kubernetes 1.37.1 and 1.38.0-beta.0, validation of ResourceSlice",
    check=check,
    good=(Example(_SLICE), Example(_COUNTERS)),
    bad=(
        Example(_COUNTERS + "  devices: []\n", at=("spec",)),
        Example(_COUNTERS.replace("{memory: {value: 80Gi}}", "{}"), at=("spec.sharedCounters[0].counters",)),
        Example(_COUNTERS + "  - {name: gpu-0, counters: {memory: {value: 80Gi}}}\n", at=("spec.sharedCounters[1]",)),
        Example(_SLICE.replace("gpu-0", "GPU-0"), at=("spec.devices[0].consumesCounters[0].counterSet",)),
        Example(
            _SLICE + "".join(f"    - {{counterSet: gpu-{each}, counters: {{memory: {{value: 1Gi}}}}}}\n" for each in (1, 2)),
            at=("spec.devices[0].consumesCounters",),
        ),
    ),
)
