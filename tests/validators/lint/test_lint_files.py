"""Report of manifests: counts, places, and the objects known to each other."""

from __future__ import annotations

import itertools

import pytest

from validators.lint import documents, examination, lint_files
from validators.lint.finding import Report, Subject
from validators.lint.places import LONGEST_EXCERPT
from validators.rules.base import Profile, Settings, Severity

POD_GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
"""
BAD = POD_GROUP.replace("minCount: 4", "minCount: 0")
MISSPELT = POD_GROUP.replace("schedulingPolicy", "schedulingPolcy")
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  schedulingGroup: {podGroupName: workers}
"""
FOREIGN = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"


def report(files: dict[str, str], objects: dict[str, str] | None = None, **settings: object) -> Report:
    def parsed(texts: dict[str, str]) -> list[documents.Manifest]:
        return [documents.parse(name, text.encode()) for name, text in texts.items()]

    chosen = Settings(linting=True, **settings)  # type: ignore[arg-type]
    return lint_files.run(parsed(files), parsed(objects or {}), settings=chosen)


def finding_rows(found: Report) -> list[tuple[str, int, str, str]]:
    return [(each.file, each.span.line, each.rule, each.field) for each in found.findings]


def test_a_finding_has_its_place_its_object_and_its_line() -> None:
    (result,) = report({"a.yaml": f"---\n{BAD}"}).findings

    assert (result.file, result.span.line, result.span.column, result.span.end_column) == ("a.yaml", 6, 29, 40)
    assert (result.rule, result.field, result.severity) == ("gang-minimum", "spec.schedulingPolicy.gang.minCount", Severity.ERROR)
    assert result.document == Subject("scheduling.k8s.io/v1beta1", "PodGroup", "default", "workers")
    assert result.source == "  schedulingPolicy: {gang: {minCount: 0}}"
    assert result.type is not None
    assert result.docs == "validators/rules/README.md#gang-minimum"


def test_what_is_counted() -> None:
    files = {"a.yaml": f"{BAD}---\n{FOREIGN}---\na: 1\n", "b.yaml": f"{POD_GROUP}---\na: [\n", "c.yaml": ""}
    summary = report(files).summary

    assert (summary.files, summary.documents, summary.foreign) == (3, 3, 1)
    assert (summary.errors, summary.warnings, summary.suppressed) == (2, 2, 0)


@pytest.mark.parametrize(
    ("files", "want"),
    [
        pytest.param({"a.yaml": POD_GROUP}, 0, id="clean"),
        pytest.param({"a.yaml": "a: 1"}, 0, id="warnings alone"),
        pytest.param({"a.yaml": BAD}, 1, id="an error"),
        pytest.param({"a.yaml": "a: ["}, 2, id="unreadable"),
        pytest.param({"a.yaml": BAD, "b.yaml": "a: ["}, 3, id="both"),
        pytest.param({}, 0, id="nothing at all"),
    ],
)
def test_the_exit_status(files: dict[str, str], want: int) -> None:
    assert want == report(files).exit_status


@pytest.mark.parametrize("severity", [Severity.WARNING, Severity.OFF])
def test_what_cannot_be_read_sets_the_exit_status_whatever_its_severity(severity: Severity) -> None:
    result = report({"a.yaml": "a: ["}, severities=(("unreadable", severity),))

    assert result.exit_status == 2
    assert [each.severity for each in result.findings] == ([] if severity is Severity.OFF else [severity])


def test_severities_hold_for_rules_about_files_too() -> None:
    assert report({"a.yaml": "a: 1"}, severities=(("not-kubernetes", Severity.ERROR),)).exit_status == 1
    assert finding_rows(report({"a.yaml": BAD}, severities=(("gang-minimum", Severity.OFF),))) == []


def test_of_an_object_of_a_wrong_shape_nothing_else_is_said() -> None:
    files = {"a.yaml": MISSPELT.replace("spec:", "spec:\n  priority: 2000000000"), "b.yaml": BAD}

    assert {each.rule for each in report(files).findings if each.file == "a.yaml"} == {"schema-required", "schema-unknown-field"}
    assert {each.rule for each in report(files).findings if each.file == "b.yaml"} == {"gang-minimum"}


def test_an_object_is_known_to_the_others_though_its_shape_is_wrong() -> None:
    unknown = f"{POD_GROUP.replace('name: workers', 'name: other')}"

    assert "scheduling-group-exists" not in {each.rule for each in report({"a.yaml": MISSPELT, "b.yaml": POD}).findings}
    assert finding_rows(report({"a.yaml": unknown, "b.yaml": POD})) == [
        ("b.yaml", 5, "scheduling-group-exists", "spec.schedulingGroup.podGroupName")
    ]


def test_further_objects_are_known_and_not_judged() -> None:
    other = BAD.replace("name: workers", "name: other")

    assert finding_rows(report({"a.yaml": POD}, {"cluster.yaml": BAD})) == []
    assert [rule for _, _, rule, _ in finding_rows(report({"a.yaml": POD}, {"cluster.yaml": other}))] == ["scheduling-group-exists"]
    assert report({"a.yaml": POD}, {"cluster.yaml": other}).summary.documents == 1


def test_an_input_takes_the_place_of_the_further_object_of_its_name() -> None:
    """An object that is replaced does not conflict with its replacement."""
    default = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: usual}\nvalue: 5\nglobalDefault: true\n"

    assert finding_rows(report({"a.yaml": default}, {"cluster.yaml": default})) == []
    assert finding_rows(report({"a.yaml": default}, {"cluster.yaml": default.replace("usual", "other")})) == [
        ("a.yaml", 5, "one-global-default", "globalDefault")
    ]


def test_further_objects_that_cannot_be_read_are_reported() -> None:
    result = report({"a.yaml": POD_GROUP}, {"cluster.yaml": "a: [", "values.yaml": "a: 1"})

    assert [(file, rule) for file, _, rule, _ in finding_rows(result)] == [("cluster.yaml", "unreadable")]
    assert result.exit_status == 2


def test_the_order_of_files_does_not_matter() -> None:
    files = {"a/b.yaml": BAD, "a.yaml": f"{POD}---\n{MISSPELT}", "z.json": "{}", "b.yaml": POD}
    want = report(files)

    assert [file for file, *_ in finding_rows(want)] == sorted((file for file, *_ in finding_rows(want)), key=str.encode)
    for order in itertools.permutations(files.items()):
        assert want == report(dict(order))


def test_findings_are_in_the_order_of_the_file() -> None:
    result = finding_rows(report({"a.yaml": f"a: 1\n---\n{BAD}---\n{MISSPELT}---\nb: ["}))

    assert result == sorted(result)
    assert len(result) == 5


@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}, Subject("v1", "Node", "", "n"), id="no namespace"),
        pytest.param(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"}},
            Subject("v1", "Pod", "default", "p-"),
            id="generateName",
        ),
        pytest.param({"kind": 5, "metadata": []}, Subject("", "", "default", ""), id="nothing in words"),
    ],
)
def test_what_an_object_says_it_is(content: dict[str, object], want: Subject) -> None:
    assert want == examination.subject_of(content)


def test_a_suppression_of_a_rule_that_the_profile_has_not_is_not_called_unused() -> None:
    text = POD_GROUP.replace("name: workers", 'name: workers, annotations: {muster.dev/ignore: "all-needs-gang: why"}')

    assert [each.rule for each in report({"a.yaml": text}).findings] == ["unused-suppression"]
    assert report({"a.yaml": text}, profile=Profile.UPSTREAM).findings == ()


def test_an_annotation_of_a_foreign_object_is_not_read() -> None:
    text = FOREIGN.replace("name: d", 'name: d, annotations: {muster.dev/ignore: "no"}')

    assert report({"a.yaml": text}).findings == ()


def test_findings_on_one_line_share_an_excerpt_of_it() -> None:
    """A file may be one line: a copy of it in each finding would take memory in the square of its size."""
    templates = ", ".join(f"{{name: t{number}, schedulingPolicy: {{gang: {{minCount: 0}}}}}}" for number in range(8))
    text = f"{{apiVersion: scheduling.k8s.io/v1beta1, kind: Workload, metadata: {{name: w}}, spec: {{podGroupTemplates: [{templates}]}}}}"
    findings = report({"a.yaml": f"---\n{text}\n"}).findings

    assert len(findings) == 8
    assert {each.source for each in findings} == {text[:LONGEST_EXCERPT]}
    assert len({id(each.source) for each in findings}) == 1
