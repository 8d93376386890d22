"""A list of templates has at most 8 items, on every level."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.workloads import MAX_TEMPLATES
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.rules.base import CREATE_AND_UPDATE, WORKLOAD, Context, Example, Rule


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the list.  The rules about single templates then skip everything below it."""
    if context.templates.has_long_list:
        for template_list in context.templates.lists:
            if len(template_list.new) > MAX_TEMPLATES:
                yield field.too_many(template_list.path, len(template_list.new), MAX_TEMPLATES)


_NINE = "".join(f"""\
  - name: role-{number}
    schedulingPolicy: {{gang: {{minCount: 4}}}}
""" for number in range(9))  # fmt: skip
_HEAD = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  podGroupTemplates:
"""

RULE = Rule(
    id="template-lists-capped",
    kinds=WORKLOAD,
    why="The limit bounds the work of the scheduler; it can be raised later, but never lowered.",
    source="KEP-6012, Notes/Constraints/Caveats: List Cappings",
    check=check,
    relevant_traits=traits.LONG_LIST,
    on=CREATE_AND_UPDATE,
    good=(Example(_HEAD + "".join(_NINE.splitlines(keepends=True)[:16])),),
    bad=(Example(_HEAD + _NINE, at=("spec.podGroupTemplates",)),),
)
