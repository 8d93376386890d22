"""Linting in two passes over files, with objects that are encoded: the report is that of linting all files in memory."""

from __future__ import annotations

import dataclasses
import io
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from kubeapi.meta import replaced
from tests.sampling import sampled
from tests.validators.lint.test_cases import CASES
from validators import rules
from validators.lint import batch, engine, files, large_files, lint_files, object_store, yaml_values
from validators.lint.batch import Batch, ChangedError, Gathered, Neighbours, Task
from validators.lint.finding import Report
from validators.lint.object_columns import OF_KIND, Columns, MemoryByteStore
from validators.object_lookup import KnownObjects
from validators.rules.base import Settings

SETTINGS = Settings(linting=True, fixes=True)
EXAMPLES = [each.yaml for rule in rules.discover().values() for each in (*rule.good, *rule.bad)]
GROUP = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata:\n  name: g{}\nspec:\n  schedulingPolicy:\n    gang:\n      minCount: {}\n"


def gathered(paths: Sequence[str], objects: Sequence[str] = (), *, of_task: int = 2, settings: Settings = SETTINGS) -> Gathered:
    read = files.Files(files.listed(paths), io.BytesIO(), paths)
    processes = [MemoryByteStore(), MemoryByteStore()]
    batches: list[Batch] = []
    for number, first in enumerate(range(0, len(read.names), of_task)):
        task = Task(number, range(first, min(first + of_task, len(read.names))), 0)
        done = batch.examine(read, task, settings, processes[number % 2], process=number % 2)
        batches[:0] = batch.decode_batches(batch.encode([done]))  # in another order
    known = batch.examine_known(files.manifests(objects, io.BytesIO(), leave_out=map(files.identity, paths)), processes[0], 0)
    return Gathered(batches, known, read, lambda process, offset, size: processes[process].read(offset, size))


def linted(paths: Sequence[str], objects: Sequence[str] = (), *, of_task: int = 2, settings: Settings = SETTINGS) -> Report:
    both = gathered(paths, objects, of_task=of_task, settings=settings)
    remaining = both.remaining
    findings = [each for first in range(0, len(remaining), 3) for each in both.validate(remaining[first : first + 3], settings)]
    both.examination.findings += batch.decode_findings(batch.encode(findings))
    return engine.report_on(both.examination, tuple(name for name, _ in files.listed(paths)), settings)


def in_memory(paths: Sequence[str], objects: Sequence[str] = (), settings: Settings = SETTINGS) -> Report:
    known = files.read_manifests(objects, io.BytesIO(), leave_out=map(files.identity, paths))
    return lint_files.run(files.read_manifests(paths, io.BytesIO()), known, settings=settings)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(case: Path) -> None:
    assert linted([str(case / "input")]) == in_memory([str(case / "input")])


@pytest.mark.parametrize("seed", range(sampled(100)))
def test_random_files_and_known_objects(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    for folder, count in (("files", 6), ("known", 3)):
        (tmp_path / folder).mkdir()
        for number in range(count):
            texts = chance.choices([*EXAMPLES, GROUP.format(1, 2), "{{ template }}: [", "a: 1", ""], k=chance.randrange(4))
            (tmp_path / folder / f"{number}.yaml").write_text("\n---\n".join(texts))
    paths, objects = [str(tmp_path / "files")], [str(tmp_path / "known")]
    expected = in_memory(paths, objects)
    assert linted(paths, objects) == expected
    assert linted(paths, objects, of_task=1) == expected


@pytest.mark.parametrize("seed", range(sampled(100)))
def test_segments(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    odd = [
        "# only a comment\n",
        "%YAML 1.1\n",
        "a: [\n",
        "{{ x }}: [",
        "",
        "...\n",
        "a: '\n---\n'\n",
        "# muster: ignore[gang-minimum] x\n",
        '{"a": 1}\n',
    ]
    texts = chance.choices([*EXAMPLES[:60], *odd, GROUP.format(1, 0)], k=12)
    end = chance.choice(("\n", "\r\n"))
    text = chance.choice(("", "\ufeff", "---\n")) + chance.choice(("---\n", "\n---\n", "\n--- # next\n")).join(texts)
    content = text.replace("\n", end).encode() + chance.choice((b"", b"", b"\n---\n\xff\xfe"))
    (tmp_path / "a.yaml").write_bytes(content)
    expected = in_memory([str(tmp_path)])
    monkeypatch.setattr(large_files, "BLOCK", chance.choice((64, 300, 1000)))
    assert linted([str(tmp_path)]) == expected


def test_a_large_file_is_read_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("---\n".join(GROUP.format(number, number % 1000) for number in range(6000)))
    with path.open("rb") as stream:
        parts = [(segment, len(manifest.parts)) for segment, manifest in large_files.read("a.yaml", stream)]
    assert len(parts) > 2
    assert all(segment.size is not None and segment.size <= 2 * large_files.BLOCK for segment, _ in parts)
    assert sum(count for _, count in parts) == 6000
    report = linted([str(path)])
    assert report == in_memory([str(path)])
    assert [each.span.line for each in report.findings] == [9 * number + 8 for number in range(0, 6000, 1000)]


@pytest.mark.parametrize("ending", ["", "\n", "---", "\n---\n", "\n---\n# end"])
def test_a_file_without_documents(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text(ending)
    expected = in_memory([str(tmp_path)])
    monkeypatch.setattr(large_files, "BLOCK", 2)
    assert linted([str(tmp_path)]) == expected


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text("---\n".join(GROUP.format(number, 1) for number in range(20)))
    monkeypatch.setattr(large_files, "BLOCK", 200)
    monkeypatch.setattr(large_files, "LARGEST_FILE", 1000)
    report = linted([str(tmp_path)])
    assert [(each.rule, each.span.line) for each in report.findings] == [("unreadable", 1)]
    assert report.summary.documents == 0


def test_a_group_with_many_pods_and_a_list_of_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a file have their own numbers and offsets, results of lookups are forgotten in between."""
    monkeypatch.setattr(object_store, "_CACHED_RESULTS", 1)
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {{name: p{0}}}\nspec:\n  schedulingGroup: {{podGroupName: g{1}}}\n  schedulerName: s{2}\n"
    item = (
        '{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "i{0}"}}, "spec": {{"schedulingGroup": {{"podGroupName": "none"}}}}}}'
    )
    objects = f'{{"apiVersion": "v1", "kind": "List", "items": [{", ".join(item.format(number) for number in range(3))}]}}\n'
    pods = [pod.format(number, number % 2, number == 20) for number in range(40)]
    texts = ["# é\n" + GROUP.format(0, 1), objects, "a: 1\n", *pods, GROUP.format(1, 1), objects.replace("i0", "j0")]
    (tmp_path / "a.yaml").write_text("---\n".join(texts), encoding="utf-8")
    expected = in_memory([str(tmp_path)])
    assert {"one-scheduler-name", "scheduling-group-exists"} <= {each.rule for each in expected.findings}
    assert linted([str(tmp_path)]) == expected


def test_a_file_that_changes_between_the_passes(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(GROUP.format("", 1).replace("spec:\n", "spec:\n  parentCompositePodGroupName: none\n"))
    (tmp_path / "b.yaml").write_text("apiVersion: scheduling.k8s.io/v1alpha3\nkind: CompositePodGroup\nmetadata: {name: other}\n")
    both = gathered([str(tmp_path)], of_task=1)
    path.write_text("")
    with pytest.raises(ChangedError, match=r"a\.yaml changed while it was read"):
        both.validate(both.remaining, SETTINGS)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to("nowhere")
    assert linted([str(tmp_path)]) == in_memory([str(tmp_path)])
    assert linted([str(tmp_path)]).has_unreadable


def test_standard_input_is_read_twice() -> None:
    text = GROUP.format(1, 0).encode()
    read = files.Files(files.listed(["-"]), io.BytesIO(text), ["-"])
    ((segment, manifest),) = read.segments(0)
    assert len(manifest.parts) == 1
    assert list(read.documents(0, segment, {0: 0})) == [0]
    assert not read.documents(0, segment, {})
    assert read.sizes() == [len(text)]


def test_the_lookup_has_the_results_of_known_objects(tmp_path: Path) -> None:
    for number, text in enumerate(EXAMPLES):
        (tmp_path / f"{number}.yaml").write_text(text)
    objects = []
    first = engine.FirstPass(SETTINGS, lambda _document, _examined, item: objects.append(item))
    for manifest in files.read_manifests([str(tmp_path)], io.BytesIO()):
        first.read_manifest(manifest)
    expected, stored = KnownObjects(objects, complete=False), gathered([str(tmp_path)]).objects
    assert [stored.object(number) for number in range(len(objects))] == objects
    for kind in {each.kind for each in objects} | {"Nothing"}:
        listed = expected.list_kind(kind)
        assert (None if listed is None else list(listed)) == (None if (found := stored.list_kind(kind)) is None else list(found))
        for namespace in ("default", "", "other"):
            for name in {each.metadata.name for each in objects} | {"system-node-critical", "nothing"}:
                assert expected.get(kind, namespace, name) == stored.get(kind, namespace, name)
                assert list(expected.children(kind, namespace, name)) == list(stored.children(kind, namespace, name))


def test_tasks() -> None:
    sizes = [100] * 10 + [10**7] + [0] * 5
    listed = batch.tasks(sizes, 100)
    assert [number for each in listed for number in each.files] == list(range(len(sizes)))
    assert [each.number for each in listed] == list(range(len(listed)))
    assert listed[-1].bytes == sum(sizes)
    assert len(batch.tasks([10**6] * 5000, 100)) <= 101
    assert batch.tasks([], 100) == []


@pytest.mark.parametrize("seed", range(sampled(100)))
def test_neighbours_of_any_extent(seed: int, tmp_path: Path) -> None:
    """Objects of few names in many files: some references are near, some lead to files of other tasks, and names occur twice."""
    chance = random.Random(seed)
    texts = [
        "kind: PodGroup\nspec: {schedulingPolicy: {gang: {minCount: 2}}, workloadRef: {workloadName: {}, templateName: t}}",
        "kind: PodGroup\nspec: {schedulingPolicy: {basic: {}}, parentCompositePodGroupName: {}}",
        "kind: CompositePodGroup\nspec: {schedulingPolicy: {basic: {}}, workloadRef: {workloadName: {}, templateName: t}}",
        "kind: Workload\nspec: {podGroupTemplates: [{name: t, schedulingPolicy: {gang: {minCount: 2}}, priorityClassName: {}}]}",
        "kind: Pod\nspec: {schedulingGroup: {podGroupName: {}}, containers: [{name: c, image: i}]}",
        "kind: PriorityClass\nvalue: 5",
    ]
    versions = {"Pod": "v1", "CompositePodGroup": "scheduling.k8s.io/v1alpha3", "PriorityClass": "scheduling.k8s.io/v1"}
    for number in range(8):
        listed = []
        for text in chance.choices(texts, weights=(4, 4, 2, 3, 6, 0.3), k=3):
            kind = text.split("\n")[0].removeprefix("kind: ")
            name, other = (f"{letter}{chance.randrange(number // 3 * 2, number // 3 * 2 + 3)}" for letter in "xx")
            version = versions.get(kind, "scheduling.k8s.io/v1beta1")
            written = text.replace("{}}", "{ }}").replace("{}", other).replace("{ }", "{}")
            listed.append(f"apiVersion: {version}\nmetadata: {{name: {name}}}\n{written}\n")
        (tmp_path / f"{number}.yaml").write_text("---\n".join(listed))
    for settings in (SETTINGS, dataclasses.replace(SETTINGS, fixes=False)):
        expected = in_memory([str(tmp_path)], settings=settings)
        assert expected.findings
        for of_task in (1, 3, 8):
            assert linted([str(tmp_path)], of_task=of_task, settings=settings) == expected


def test_files_whose_objects_refer_to_each_other_need_one_pass(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number}.yaml").write_text(GROUP.format(number, 1) + "---\n" + GROUP.format("0" if number == 4 else f"-{number}", 1))
    both = gathered([str(tmp_path)], of_task=1)
    objects = [both.objects.object(number).metadata.name for number in both.remaining]
    assert objects == ["g0", "g0"], "only the name that two files have"


def test_many_groups_of_one_name_are_not_decoded_again_for_each_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count, of_task = 400, 4
    for number in range(count):
        (tmp_path / f"{number}.yaml").write_text(GROUP.format("", 1))
    both = gathered([str(tmp_path)])
    assert len(both.remaining) == count
    decoded: list[int] = []
    read = both.objects._read

    def counted(number: int, offset: int, size: int) -> bytes:
        decoded.append(number)
        return read(number, offset, size)

    monkeypatch.setattr(both.objects, "_read", counted)
    monkeypatch.setattr(object_store, "_CACHED_BYTES", 1)
    for first in range(0, count, of_task):
        both.validate(both.remaining[first : first + of_task], SETTINGS)
    assert len(decoded) <= 8 * count


def test_without_fixes_the_places_of_all_fields_are_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "g.yaml").write_text(GROUP.format(1, 1).replace("minCount", "minCuont"))
    (finding,) = (each for each in linted([str(tmp_path)]).findings if each.rule == "schema-unknown-field")
    assert finding.fix is not None
    monkeypatch.setattr(yaml_values, "survey", lambda *_, **__: pytest.fail("the places of all fields are not needed"))
    without = linted([str(tmp_path)], settings=dataclasses.replace(SETTINGS, fixes=False)).findings
    assert replaced(finding, fix=None) in without


def test_units_of_neighbours_have_the_same_settings() -> None:
    """Settings that are not the same object are compared field by field, for each document."""
    for settings in (SETTINGS, dataclasses.replace(SETTINGS, fixes=False)):
        first, second = (Neighbours(Columns(), settings)._settings for _ in range(2))
        assert first is second
        assert first == dataclasses.replace(settings, fixes=False)


def test_keys_of_one_unit_are_not_searched_among_all_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pod = "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: p{0}\nspec:\n  schedulingGroup:\n    podGroupName: g{1}\n"
    for number in range(8):
        (tmp_path / f"{number}.yaml").write_text(GROUP.format(number, 1) + pod.format(number, 0 if number == 5 else number))
    searched: list[int] = []
    extent = object_store.StoredObjects.extent
    monkeypatch.setattr(object_store.StoredObjects, "extent", lambda objects, code: searched.append(code) or extent(objects, code))
    both = gathered([str(tmp_path)], of_task=1)
    names = [both.objects.object(number).metadata.name for number in both.remaining]
    assert names == ["g0", "p0", "p5"], "the pods of g0 are in two files"
    of_kinds = [each for each in searched if each >= OF_KIND]
    assert len(searched) - len(of_kinds) <= 4, "the group and the pods of g0 in the file of p5, and the pods of g5"
