"""Tables of the contracts about names."""

from __future__ import annotations

import re

API_VERSION = re.compile(r"scheduling\.k8s\.io(?:/v\w+)?")
"""Texts that only ``kubeapi.versions`` has."""
BARE_NAMES = frozenset(
    [
        "agree",
        "asked",
        "became",
        "came",
        "found",
        "going",
        "hear",
        "heard",
        "kept",
        "look",
        "lost",
        "made",
        "of",
        "put",
        "said",
        "seen",
        "shown",
        "take",
        "told",
        "took",
        "tried",
        "wrote",
    ]
)
"""Words that must not be the whole name of a function or method: they cannot be searched for and mean nothing alone."""
SHARED_NAMES: dict[str, str] = {
    "Decision": "the library's form has text in place of values",
    "GroupDecision": "the library's form has text in place of values",
    "Problem": "the library's form has text in place of values",
    "Remedy": "the library's form has text in place of values",
}
"""Public classes of one name in a top-level package, each with the reason.  All other names are unique there."""
SHARED_MODULES: dict[str, str] = {
    "changes": "values, and their text",
    "command": "options of a subcommand",
    "conditions": "values, and their text",
    "constraints": "values, and their text; those of volumes in a search",
    "pre_enqueue": "values, and the decisions that have them",
    "__main__": "what ``python -m`` looks for",
}
"""Names of several modules in a top-level package, each with the reason."""
REGISTRIES = ("validators/rules", "muster/doctor/checks")
"""Packages whose docstring does not list their modules: each has one rule or check, which its name tells."""

FOR_ALL_PLUGINS = frozenset({"base", "topology_counts", "profile", "registry", "stateful_plugins"})
"""Modules of ``scheduler_core.plugins`` that serve all plugins."""
NAMES_A_PLUGIN: dict[str, str] = {
    "placement_request": "soft topology spread places equal pods in one step",
    "soft_spread": "soft topology spread places equal pods in one step",
    "state": "storage that is provisioned for running pods",
}
"""Modules of ``scheduler_core.placement`` that name a plugin, each with the reason.  All others read the profile of a shape only."""

CUTS_TEXT = frozenset({"split", "rsplit", "splitlines", "replace", "startswith", "endswith", "removeprefix", "removesuffix", "format"})
"""Methods of texts with which modules outside ``WITH_TEXT`` would read or change text."""
NO_TEXT = frozenset({"chosen", "dataclasses", "np", "time"})
"""Modules and values with methods of these names."""
CUTS_OTHER_TEXT: dict[tuple[str, str], str] = {
    ("muster.commands.doctor.command", "each"): "the id of a check",
    ("muster.commands.doctor.diagnosis_report", "shlex"): "a command",
    ("muster.commands.doctor.diagnosis_report", "defect.item.place"): "a file with a line",
    ("muster.commands.doctor.diagnosis_report", "each"): "options",
    ("muster.commands.doctor.live_installation", "str(error)"): "text of the API server",
    ("muster.commands.lint.live", "str(answer.get('kind'))"): "a kind",
    ("muster.commands.lint.live", "text"): "an option",
    ("muster.html.root_cards", "json.dumps(target, ensure_ascii=False, indent=2)"): "JSON",
    ("muster.html.sentences", "resource"): "a resource",
    ("muster.html.sentences", "each"): "a resource",
    ("muster.render.cause_keys", "member.value"): "a word",
    ("muster.render.cause_keys", "name"): "a field",
    ("muster.render.problem_words", "base"): "a resource in a quota",
    ("muster.render.problem_words", "quota_resource"): "a resource in a quota",
    ("muster.render.root_text", "label"): "a claim",
    ("muster.render.tree_rows", "pod"): "a pod",
    ("scheduler_core.model.device_claims", "self.label"): "a claim",
    ("scheduler_core.model.options", "re"): "fields of pods, and device attributes",
    ("scheduler_core.model.selector_clause", "re"): "a number",
    ("scheduler_core.model.topology_levels", "key"): "a label key",
    ("scheduler_core.preemption.units.unit_order", "re"): "a time",
    ("scheduler_core.sidecar.cache.cache", "self"): "no text",
    ("scheduler_core.sidecar.controllers.disruption_target", "condition.message"): "a condition that the API server has: see there",
    ("scheduler_core.sidecar.controllers.validity", "condition.message"): "a condition that the API server has: see there",
    ("scheduler_core.sidecar.process.loop", "cache"): "no text",
}
"""Expressions, each with the only module in which it may be cut: it is not a text of ours.  ``re`` stands for all that it reads."""
COMPARES_OTHER_TEXT: dict[tuple[str, str], str] = {
    ("muster.commands.fit.command", "(*own.problems, *own.skipped, *unread)"): "problems",
    ("muster.commands.fit.command", "(*own.problems, *beside)"): "problems",
    ("muster.commands.fit.command", "judged.kind"): "a kind of verdict",
    ("muster.commands.fit.verdict", "judged.kind"): "a kind of verdict",
    ("muster.commands.simulate.simulation", "(*inputs.refused, *inputs.notes, *others)"): "problems",
    ("muster.render.answer_json", "known"): "objects by identity of causes",
    ("muster.render.cause_json", "encoded"): "empty values",
}
"""Expressions with results of ``wording``, each with the only module in which it may be compared or be a key, and the reason."""
TEXTS_IN_CAUSES: dict[str, str] = {
    "api_group": "an API group",
    "differing_fields": "fields of a group",
    "group_name": "a pod group of Kueue",
    "groups": "groups",
    "scheduler": "another scheduler",
    "template": "a template of a Workload",
    "after": "a node, or a device class",
    "allowed": "values of a field",
    "as_of": "a date",
    "attribute": "a device attribute",
    "awaited": "replicated jobs, tasks or roles of an object",
    "before": "a node, a topology key, or a device class",
    "check": "an AdmissionCheck",
    "checks": "AdmissionChecks",
    "cohort": "a cohort",
    "topologies": "Topologies of Kueue",
    "flavor": "a ResourceFlavor",
    "flavors": "ResourceFlavors",
    "pod_set": "a part of a job",
    "resource": "a resource",
    "capacity": "names of capacities",
    "classes": "storage classes",
    "command": "a command of ours",
    "confined": "values of a label",
    "detail": "text of a rule, or of workloadbuilder",
    "device": "a device",
    "device_class": "a device class",
    "driver": "a CSI driver",
    "error": "text of the API server, of kube-scheduler, or of an exception of a placement plugin",
    "errors": "fields of a quota or of an object, and their errors",
    "exhausted": "resources",
    "expected": "a scheduler name, or a preemption policy",
    "extension_point": "an extension point of kube-scheduler",
    "field": "a field of a pod",
    "fields": "fields of a pod",
    "file": "a file of a plugin",
    "first_place": "a file with a line",
    "gate": "a feature gate",
    "gates": "scheduling gates",
    "key": "a label key",
    "keys": "topology keys",
    "kind": "a kind of objects",
    "like": "a node, or a storage class",
    "manager": "a controller",
    "message": "text of kube-scheduler or of a plugin",
    "namespaces": "namespaces",
    "node": "a node",
    "node_key": "a label key",
    "node_selector": "labels and values",
    "nodes": "nodes",
    "other_node": "a node",
    "other_value": "a value of a label",
    "own_node": "a node",
    "path": "a field of an object",
    "planned_node": "a node",
    "plugin": "a plugin",
    "plugins": "names of admission plugins",
    "pod": "a pod",
    "pod_names": "pods",
    "pool_name": "a pool of devices",
    "position": "a file with line and column",
    "pre_filter": "text of kube-scheduler",
    "priority_class": "a priority class",
    "protocol": "a protocol",
    "provisioner": "a provisioner",
    "quota_resource": "a resource in a quota",
    "quota_resources": "resources in a quota",
    "reason": "text of kube-scheduler",
    "replaced": "a topology key",
    "request": "a request of a claim",
    "request_names": "requests of a claim",
    "returned": "a Python type",
    "rule": "the id of a rule",
    "schedulers": "scheduler names",
    "similar": "a label key, a value of a label, an attribute, or a name",
    "source": "a project and its version, or the address of a page",
    "spelling": "a name as a user writes it",
    "storage_class": "a storage class",
    "suffixes": "endings of files",
    "taints": "keys of taints",
    "text": "text of a placement plugin",
    "topology": "a topology key",
    "unknown_kind": "a kind and its API group",
    "value": "a scheduler name, or a preemption policy",
    "values": "values of a label",
    "victims": "pods",
    "volume": "a volume",
}
"""Fields of facts that are texts: names, keys, and text of other programs.  All other fields are values, or numbers."""
OF_THE_API = frozenset({"GroupCondition"})
"""Classes of ``scheduler_core.model.decision`` that are the API's, with its texts."""
TEXTS_IN_DECISIONS: dict[str, str] = {
    "Decision.assignments": "pods, and their nodes",
    "Decision.nominations": "pods, and their nodes",
    "Decision.pending": "pods, with their causes",
    "Decision.victims": "pods",
    "Decision.volumes": "claims, with their volumes",
    "RankLevel.key": "a topology key",
    "Search.objective": "one of two constants",
    "Search.outcome": "one of four constants",
    "Search.strategy": "one of two constants",
    "Step.apply": "an object, by field",
    "Step.delete": "an object, by field",
    "VolumeChoice.node": "a node",
    "VolumeChoice.volume": "a volume",
}
"""Fields of the classes in ``scheduler_core.model.decision`` that are or contain texts.  All other fields are values: decisions have causes, which
``wording`` turns into text."""
