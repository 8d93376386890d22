"""Disruption mode All is for gangs: a template or group with another policy cannot have it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from kubeapi.versions.kubernetes_releases import Since
from validators import field
from validators.field import FieldError, Fix, Repair
from validators.model import traits
from validators.rules.base import SHAPED, Context, Example, Profile, Rule

_COMPOSITES = Since(38, "composite templates and CompositePodGroups need a gang too; before, only leaves do")


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at ``disruptionMode``."""
    templates = context.templates
    composites = templates.composites if context.settings.minor >= _COMPOSITES else ()
    for shape in (*templates.leaves, *composites):
        mode = shape.disruption_mode
        if mode is not None and mode.all is not None and shape.scheduling_policy.gang is None:
            path, is_enforced = templates.path(shape) / "disruptionMode", context.settings.minor >= _COMPOSITES
            error = field.invalid(path, "all", 'cannot have "all" disruption mode when scheduling policy is other than "gang"')
            yield dataclasses.replace(error, fix=Fix(Repair.RENAME, "single", is_safe=is_enforced, below=("all",)))


_GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  disruptionMode: {all: {}}
"""
_BASIC = _GROUP.replace("{gang: {minCount: 4}}", "{basic: {}}")
_COMPOSITE = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: CompositePodGroup
metadata: {name: replica-0}
spec:
  workloadRef: {workloadName: train, templateName: replica}
  schedulingPolicy: {basic: {}}
  disruptionMode: {all: {}}
"""

RULE = Rule(
    id="all-needs-gang",
    kinds=SHAPED,
    why="Pods with the basic policy are placed one by one and useful one by one, so there is no reason to evict them together.",
    source="KEP-5710 (as Kubernetes 1.37's workloadbuilder and Job API enforce it); Kubernetes 1.38.0-beta.0, validation of groups",
    check=check,
    relevant_traits=traits.ALL_WITHOUT_GANG,
    profile=Profile.KEP,
    upstream_since=38,
    changes=(_COMPOSITES,),
    good=(Example(_GROUP),),
    bad=(
        Example(_BASIC, at=("spec.disruptionMode",), fixed=_BASIC.replace("all", "single")),
        Example(_COMPOSITE, at=("spec.disruptionMode",), kubernetes="1.38", fixed=_COMPOSITE.replace("all", "single")),
    ),
)
