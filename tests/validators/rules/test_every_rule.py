"""Examples of each rule: good ones have no finding, bad ones exactly the findings that they name."""

from __future__ import annotations

import dataclasses

import pytest
import yaml

from kubeapi.groups import CompositePodGroup, PodGroup
from muster.commands.device_selectors import CompiledSelectors
from validators import pipeline, rules
from validators.gates import Gates
from validators.hierarchy.tree import GroupTree
from validators.lint import documents, fixes, lint_files
from validators.lint.finding import Finding
from validators.object_lookup import KnownObjects
from validators.rules.base import About, Example, Operation, Rule, Settings

JUDGED_HERE = [rule for rule in rules.ALL.values() if rule.about is not About.FILE]


def examples(kind: str) -> list[object]:
    return [
        pytest.param(rule, example, id=f"{rule.id}-{number}") for rule in JUDGED_HERE for number, example in enumerate(getattr(rule, kind))
    ]


def settings(example: Example, *, linting: bool) -> Settings:
    return Settings(
        minor=int(example.kubernetes.partition(".")[2]),
        gates=Gates(frozenset(example.gates_off)),
        linting=linting,
        whole_documents=linting,
        selectors=CompiledSelectors(),
    )


def reported_paths(rule: Rule, example: Example) -> list[str]:
    judged = changed(example) if example.old else linted(example)
    return [str(each.error.path) for each in judged if each.error.origin == rule.id]


def linted(example: Example) -> tuple[pipeline.Violation, ...]:
    """Return the findings of the first document; all are known, the others are read before it."""
    with_gates = settings(example, linting=True)
    examined = [pipeline.examine(document, with_gates) for document in yaml.safe_load_all(example.yaml)]
    first = examined[0]
    if first.violations or first.object is None:
        return (*first.violations, *first.further)
    known = [each.object for each in (*examined[1:], first) if each.object is not None]
    tree = GroupTree.build(each for each in known if isinstance(each, (PodGroup, CompositePodGroup)))
    lookup = KnownObjects(known, complete=False)
    return (*pipeline.validate_document(first.object, with_gates, lookup=lookup, tree=tree, form=first.form), *first.further)


def changed(example: Example) -> tuple[pipeline.Violation, ...]:
    """Return the errors of an update from the old object to the new one."""
    new, old = yaml.safe_load(example.yaml), yaml.safe_load(example.old)
    for each in (new, old):
        each["metadata"].setdefault("namespace", "default")
    return pipeline.validate(
        new["kind"], new, old, Operation.UPDATE, subresource="status" if example.status else "", settings=settings(example, linting=False)
    )


@pytest.mark.parametrize(("rule", "example"), examples("good"))
def test_a_good_example_is_clean(rule: Rule, example: Example) -> None:
    """No rule has a finding for a good example of any rule."""
    judged = changed(example) if example.old else linted(example)

    assert [f"{each.error.origin} {each.error.path}: {each.error}" for each in judged] == []


@pytest.mark.parametrize(("rule", "example"), examples("bad"))
def test_a_bad_example_is_reported_at_its_places(rule: Rule, example: Example) -> None:
    """The rule reports each place that the example names, and no other."""
    assert sorted(example.at) == sorted(reported_paths(rule, example))


@pytest.mark.parametrize(("rule", "example"), examples("bad"))
def test_a_fix_makes_of_a_bad_example_what_it_states(rule: Rule, example: Example) -> None:
    """An example with a fix has the text after it, without findings of the rule; the fix of that text changes nothing."""
    if example.old:
        return
    wanted = dataclasses.replace(settings(example, linting=True), fixes=True)

    def findings(text: str) -> list[Finding]:
        report = lint_files.run([documents.parse("f.yaml", text.encode())], settings=wanted)
        return [each for each in report.findings if each.rule == rule.id]

    after = fixes.apply(example.yaml, [each.fix for each in findings(example.yaml) if each.fix is not None])

    assert example.fixed == (after if after != example.yaml else "")
    assert not example.fixed or findings(after) == []


@pytest.mark.parametrize("rule", rules.ALL.values(), ids=lambda rule: rule.id)
def test_a_rule_of_an_admission_plugin_is_one_about_classes(rule: Rule) -> None:
    """Kubernetes 1.37.1, plugin/pkg/admission/priority: the plugin refuses a second default, and a class that does not exist."""
    assert rule.by_plugin is (rule.id in {"one-global-default", "priority-class-exists", "priority-resolves"})


@pytest.mark.parametrize(
    ("rule", "kinds"),
    [
        # Training Operator 1.9, pkg/apis/kubeflow.org/v1, and MPI Operator 0.8, among others.
        pytest.param("project-values", "JAXJob MPIJob PaddleJob PyTorchJob TFJob XGBoostJob JobSet RayCluster", id="project-values"),
        pytest.param("kind-known", "CompositePodGroup PodGroup Workload Pod Job CronJob Deployment JobSet", id="kind-known"),
    ],
)
def test_a_rule_about_whole_documents_has_their_kinds(rule: str, kinds: str) -> None:
    assert set(kinds.split()) <= rules.ALL[rule].kinds


@pytest.mark.parametrize("rule", rules.ALL.values(), ids=lambda rule: rule.id)
def test_a_rule_is_documented(rule: Rule) -> None:
    """Claim, reason and source are sentences; there is a good and a bad example."""
    assert rule.claim.endswith(".")
    assert rule.why.endswith(".")
    assert rule.source
    assert rule.good
    assert rule.bad
    assert all(example.at for example in rule.bad)
    assert not any(example.at for example in rule.good)
