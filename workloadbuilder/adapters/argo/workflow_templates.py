"""Templates of a workflow: its own, and those of the WorkflowTemplates that it refers to, with their defaults."""

from __future__ import annotations

import dataclasses

from kubeapi.decode import Json
from workloadbuilder.adapters.argo.workflow_values import NotStaticError
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.strategic_merge import merged
from workloadbuilder.workload_item import WHOLE

_GROUP = "argoproj.io"


@dataclasses.dataclass(frozen=True, slots=True)
class Templates:
    """Templates in the specification *spec* of a workflow or a WorkflowTemplate."""

    spec: Fields
    namespace: str
    known: Known

    @classmethod
    def of_workflow(cls, spec: Fields, namespace: str, known: Known) -> Templates:
        """Return the templates of a workflow; with a ``workflowTemplateRef``, its specification is merged into that of the template.

        Raises:
            NotStaticError: the WorkflowTemplate is not in the input.

        """
        if "workflowTemplateRef" not in spec:
            return cls(spec, namespace, known)
        referred = cls(spec, namespace, known).referred(spec.mapping("workflowTemplateRef"))
        return cls(Fields(merged(referred.spec.given, spec.given), spec.path, spec.errors), namespace, known)

    def named(self, name: str) -> Fields:
        """Return the template *name* with the defaults.

        Raises:
            NotStaticError: there is no template of this name.

        """
        for each in self.spec.each_item("templates"):
            if each.text("name") == name:
                return self.with_defaults(each)
        raise NotStaticError(f"there is no template {name!r}")

    def with_defaults(self, template: Fields) -> Fields:
        """Return a *template* with the defaults for all templates."""
        defaults = self.spec.mapping("templateDefaults").given
        return Fields(merged(defaults, template.given), template.path, template.errors) if defaults else template

    def called(self, step: Fields) -> tuple[Templates, Fields]:
        """Return the template that a *step* calls, and the templates that it can call itself.

        Raises:
            NotStaticError: the template is not in the input.

        """
        if "inline" in step:
            return self, self.with_defaults(step.mapping("inline"))
        if "templateRef" in step:
            reference = step.mapping("templateRef")
            others = self.referred(reference)
            return others, others.named(reference.text("template"))
        return self, self.named(step.text("template"))

    def referred(self, reference: Fields) -> Templates:
        """Return the templates of the WorkflowTemplate that a *reference* names.

        Raises:
            NotStaticError: it is not in the input.

        """
        kind = "ClusterWorkflowTemplate" if reference.flag("clusterScope") else "WorkflowTemplate"
        spaces = ("",) if reference.flag("clusterScope") else (self.namespace, self.namespace or "default")
        found: Json = next((each for space in spaces if (each := self.known.get(_GROUP, kind, space, reference.text("name")))), None)
        if found is None:
            raise NotStaticError(f"{reference.path} names a {kind} that is not in the input: {reference.text('name')}")
        return Templates(Fields(found, WHOLE, []).mapping("spec"), self.namespace, self.known)
