"""A topology key is the label of a node or an attribute of a device, if nodes are known."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.workloads import Constraints
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.templates import SPEC
from validators.model.views import Job, ResourceSlice
from validators.object_lookup import Lookup
from validators.rules import checks
from validators.rules.base import SHAPED, About, Context, Example, Profile, Rule, Severity

_MOST_LABELS = 500
"""Labels among which a similar one is searched for: the search takes microseconds for each."""


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at topology keys that no node and no device has.  A warning only: an autoscaler may add nodes with other labels."""
    if not context.lookup.list_kind("Node"):
        return
    for path, constraints in _constraints(context):
        for index, each in enumerate((constraints and constraints.topology) or ()):
            if each.key and not _is_known(each.key, context.lookup):
                yield _missing(context, path.join(("schedulingConstraints", "topology", index, "key")), each.key)


def _constraints(context: Context) -> Iterator[tuple[FieldPath, Constraints | None]]:
    if isinstance(context.new, Job):
        if context.new.spec.scheduling is not None:
            yield SPEC / "scheduling", context.new.spec.scheduling.scheduling_constraints
        return
    for shape in context.templates.validated:
        yield context.templates.path(shape), shape.scheduling_constraints


def _is_known(key: str, lookup: Lookup) -> bool:
    return any(key in (node.metadata.labels or {}) for node in lookup.list_kind("Node") or ()) or any(
        key == each for each in _attributes(lookup)
    )


def _attributes(lookup: Lookup) -> Iterator[str]:
    """Yield the attributes of devices, of which ``--device-topology`` makes topology keys."""
    for each in lookup.list_kind("ResourceSlice") or ():
        if isinstance(each, ResourceSlice):
            yield from each.spec.attribute_names()


def _missing(context: Context, path: FieldPath, key: str) -> FieldError:
    labels = {label for node in context.lookup.list_kind("Node") or () for label in node.metadata.labels or {}}
    known = sorted(labels.union(_attributes(context.lookup)))
    near = field.nearest(key, known) if len(known) <= _MOST_LABELS else None
    hint = f"; did you mean {str(near.value)!r}?" if near else ""
    error = field.not_found(path, key, f"must be a label of nodes: no known node has it, and the group is never scheduled{hint}")
    return dataclasses.replace(error, fix=checks.unsafe(near)) if context.settings.fixes else error


_NODES = """\
---
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {example.com/rack: a1, topology.kubernetes.io/zone: a}}
"""
_GROUP = f"""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {{name: workers}}
spec:
  schedulingPolicy: {{gang: {{minCount: 4}}}}
  schedulingConstraints: {{topology: [{{key: example.com/rack}}]}}
{_NODES}"""
_JOB = f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: train}}
spec:
  parallelism: 4
  scheduling:
    schedulingPolicy: {{gang: {{minCount: 4}}}}
    schedulingConstraints: {{topology: [{{key: topology.kubernetes.io/zone}}]}}
  template: {{spec: {{restartPolicy: Never, containers: [{{name: main, image: registry.example/train:1}}]}}}}
{_NODES}"""
_SLICE = """\
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpus}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0, attributes: {partition: {string: p1}}}]
"""
_OF_DEVICES = _GROUP.replace("example.com/rack}]", "gpu.example.com/partition}]")

RULE = Rule(
    id="topology-key-known",
    kinds=SHAPED | {"Job"},
    about=About.TREE,
    profile=Profile.KEP,
    severity=Severity.WARNING,
    at_admission=Severity.OFF,
    why="A group is placed in one domain of its topology key; without a node that has the label there is no domain.",
    source="KEP-5732, Scheduling constraints; Kubernetes 1.37.1, plugin TopologyPlacement",
    check=check,
    relevant_traits=traits.TOPOLOGY,
    good=(Example(_GROUP), Example(_JOB), Example(_OF_DEVICES + _SLICE)),
    bad=(
        Example(
            _GROUP.replace("{key: example.com/rack}", "{key: example.com/racks}"),
            at=("spec.schedulingConstraints.topology[0].key",),
            fixed=_GROUP,
        ),
        Example(
            _OF_DEVICES.replace("partition", "partitions") + _SLICE,
            at=("spec.schedulingConstraints.topology[0].key",),
            fixed=_OF_DEVICES + _SLICE,
        ),
        Example(_JOB.replace("topology.kubernetes.io/zone}]", "block}]"), at=("spec.scheduling.schedulingConstraints.topology[0].key",)),
    ),
)
