"""``muster lsp``, driven by a client over its standard input and output."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path

import pytest
from lsprotocol import types

from tests.muster.editor import WAIT_SECONDS, started

GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: a
spec:
  schedulingPolicy:
    gang:
      minCount: 2
"""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
spec:
  schedulingGroup:
    podGroupName: a
  containers: []
"""


def written(top: Path, **texts: str) -> None:
    for name, text in texts.items():
        (top / f"{name}.yaml").write_text(text, encoding="utf-8")


def run(steps: Coroutine[object, object, None]) -> None:
    asyncio.run(steps)


def test_findings_of_all_files_and_references_between_them(tmp_path: Path) -> None:
    """A reference from an open file to one on disk, and back; an edit changes findings of a file that is not open."""
    written(tmp_path, group=GROUP, pod=POD, broken=GROUP.replace("minCount", "minCuont").replace("name: a", "name: b"))

    async def steps() -> None:
        async with started(tmp_path) as editor:
            await editor.until(lambda: editor.rules("broken.yaml"), "findings of a file that is not open")
            assert editor.rules("broken.yaml") == ["schema-required", "schema-unknown-field"]

            assert await editor.open("pod.yaml") == []
            (missing,) = await editor.change("pod.yaml", POD.replace("podGroupName: a", "podGroupName: c"))
            assert (missing.code, missing.source, missing.severity) == ("scheduling-group-exists", "muster", types.DiagnosticSeverity.Error)
            assert missing.range == types.Range(types.Position(6, 4), types.Position(6, 19))
            assert missing.message.startswith('spec.schedulingGroup.podGroupName: Not found: "c": ')
            assert await editor.change("pod.yaml", POD) == []

            await editor.open("group.yaml")
            await editor.change("group.yaml", GROUP.replace("name: a", "name: d"))
            await editor.until(lambda: editor.rules("pod.yaml"), "a finding in the other open file")
            editor.close("group.yaml")
            await editor.until(lambda: not editor.rules("pod.yaml"), "the content on disk after the file was closed")

    run(steps())


def test_columns_are_counted_in_units_of_utf_16(tmp_path: Path) -> None:
    text = GROUP.replace("  name: a", '  labels: {"\N{PILE OF POO}\N{LATIN SMALL LETTER E WITH ACUTE}": x, b: 1}\n  name: a')

    async def steps(capabilities: types.ClientCapabilities | None, column: int) -> None:
        async with started(tmp_path, capabilities=capabilities) as editor:
            found = {str(each.code): each.range for each in await editor.open("group.yaml", text)}
            assert found["schema-type"] == types.Range(types.Position(3, column), types.Position(3, column + 4))

    run(steps(None, 21))
    utf_32 = types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf32])
    run(steps(types.ClientCapabilities(general=utf_32), 20))


@pytest.mark.parametrize("value", ["x" * 900, "\N{PILE OF POO}" * 450, "[" + "x" * 900])
def test_columns_of_a_long_line_are_counted_to_its_end(tmp_path: Path, value: str) -> None:
    """Two findings: the second is before the first one's end.  A list that is never closed cannot be read."""
    text = f"{{apiVersion: scheduling.k8s.io/v1alpha3, kind: PodGroup, metadata: {{annotations: {{a/b: {value}}}, labels: {{a: 1}}, name: A}}}}\n"

    async def steps() -> None:
        async with started(tmp_path) as editor:
            found = {str(each.code): each.range for each in await editor.open("group.yaml", text)}
            at = {"unreadable": text.index("}")} if "[" in value else {"schema-type": text.index("a: 1"), "schema-required": 1}
            units = {code: len(text[:column].encode("utf-16-le")) // 2 for code, column in at.items()}
            assert units == {code: found[code].start.character for code in at}

    run(steps())


def test_line_separators_of_unicode_are_part_of_a_line(tmp_path: Path) -> None:
    """The protocol ends lines at LF, CRLF and CR only."""
    text = GROUP.replace("metadata:", 'metadata:\n  annotations: {a/b: "a\N{LINE SEPARATOR}b\x85c"}').replace("\n", "\r\n")

    async def steps() -> None:
        async with started(tmp_path) as editor:
            await editor.open("group.yaml", text)
            (wrong,) = await editor.change("group.yaml", text.replace("minCount: 2", "minCount: 0"))
            assert wrong.range == types.Range(types.Position(8, 6), types.Position(8, 17))

    run(steps())


def test_a_half_written_document_is_reported_where_it_is(tmp_path: Path) -> None:
    """The findings of the other documents stay, and the groups of the document remain known."""
    written(tmp_path, pod=POD)
    text = GROUP.replace("minCount: 2", "minCount: 0").replace("name: a", "name: b") + "---\n" + GROUP

    async def steps() -> None:
        async with started(tmp_path) as editor:
            await editor.open("pod.yaml")
            await editor.open("groups.yaml", text)
            found = await editor.change("groups.yaml", text + "  disruptionMode: {al")
            assert [each.code for each in found] == ["gang-minimum", "unreadable"]
            assert found[1].range.start.line == text.count("\n")
            assert editor.rules("pod.yaml") == []
            assert [each.code for each in await editor.change("groups.yaml", text)] == ["gang-minimum"]

    run(steps())


def test_the_files_of_muster_lint_are_read(tmp_path: Path) -> None:
    """Files that git ignores, hidden ones, those of other tools and excluded ones are not linted, open or not; templates only while open."""
    wrong = GROUP.replace("minCount: 2", "minCount: 0")
    written(tmp_path, read=wrong, ignored=wrong, excluded=wrong)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("ignored.yaml\n", encoding="utf-8")
    (tmp_path / "package.json").write_text("{}", encoding="utf-8")
    (tmp_path / "a.yaml").write_text("kind: {{ .Kind }}\n", encoding="utf-8")

    async def steps() -> None:
        async with started(tmp_path, "--exclude", "excluded.yaml") as editor:
            await editor.until(lambda: editor.rules("read.yaml"), "the findings on disk")
            assert editor.rules("a.yaml") == []
            assert [each.code for each in await editor.open("a.yaml")] == ["unreadable"]
            for name in ("ignored.yaml", "excluded.yaml", "package.json"):
                assert await editor.open(name) == []
            item = types.TextDocumentItem(f"git:{tmp_path}/read.yaml", "yaml", 1, wrong)
            editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
            assert [each.code for each in await editor.open("new.yaml", wrong)] == ["gang-minimum"]
            assert item.uri not in editor.published()

    run(steps())


def test_the_configuration_of_the_working_directory_applies(tmp_path: Path) -> None:
    wrong = GROUP.replace("minCount: 2", "minCount: 0")
    (tmp_path / ".muster.yaml").write_text("rules: {gang-minimum: warning}\nexclude: [left/]\n", encoding="utf-8")
    (tmp_path / "left").mkdir()
    written(tmp_path / "left", group=wrong)

    async def steps() -> None:
        async with started(tmp_path) as editor:
            (found,) = await editor.open("group.yaml", wrong)
            assert (found.code, found.severity) == ("gang-minimum", types.DiagnosticSeverity.Warning)
            assert await editor.open("left/group.yaml") == []

    run(steps())


def test_changes_on_disk_are_followed(tmp_path: Path) -> None:
    written(tmp_path, pod=POD, group=GROUP)
    watching = types.WorkspaceClientCapabilities(
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
    )

    async def steps() -> None:
        async with started(tmp_path, capabilities=types.ClientCapabilities(workspace=watching)) as editor:
            assert await editor.open("pod.yaml") == []
            written(tmp_path, group=GROUP.replace("name: a", "name: b"))
            editor.changed_on_disk("group.yaml")
            await editor.until(lambda: editor.rules("pod.yaml"), "the new name of the group")
            written(tmp_path, more=GROUP)
            editor.changed_on_disk("more.yaml", types.FileChangeType.Created)
            await editor.until(lambda: not editor.rules("pod.yaml"), "the group in the new file")
            (tmp_path / "more.yaml").unlink()
            editor.changed_on_disk("more.yaml", types.FileChangeType.Deleted)
            await editor.until(lambda: editor.rules("pod.yaml"), "the group is missing again")
            written(tmp_path, saved=GROUP)
            editor.saved("saved.yaml")
            await editor.until(lambda: not editor.rules("pod.yaml"), "the group in the saved file")
            assert editor.watched == [types.WORKSPACE_DID_CHANGE_WATCHED_FILES]

    run(steps())


def test_texts_without_a_folder_are_linted_while_they_are_open(tmp_path: Path) -> None:
    written(tmp_path, pod=POD, group=GROUP.replace("name: a", "name: b"))

    async def steps() -> None:
        async with started(tmp_path, folders=False) as editor:
            assert await editor.open("pod.yaml") == []
            await editor.open("group.yaml")
            await editor.until(lambda: editor.rules("pod.yaml"), "the groups of the open file")
            editor.close("group.yaml")
            await editor.until(lambda: not editor.rules("pod.yaml"), "no group is known any more")

    run(steps())


TREE = """\
apiVersion: v1
kind: List
items:
- apiVersion: scheduling.k8s.io/v1beta1
  kind: Workload
  metadata: {name: train}
  spec:
    compositePodGroupTemplates:
    - name: top
      schedulingPolicy: {basic: {}}
      podGroupTemplates:
      - name: workers
        schedulingPolicy: {gang: {minCount: 0}}
- apiVersion: scheduling.k8s.io/v1alpha3
  kind: CompositePodGroup
  metadata: {name: "\N{PILE OF POO}", annotations: {name: x}}
  spec: &top
    workloadRef: {workloadName: train, templateName: top}
    schedulingPolicy: {basic: {}}
"""
LEAF = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: leaf}
spec:
  parentCompositePodGroupName: "\N{PILE OF POO}"
  workloadRef: {workloadName: train, templateName: workers}
  schedulingPolicy: {gang: {minCount: 1}}
  priorityClassName: none-has-this-name
"""


def test_definitions(tmp_path: Path) -> None:
    """Groups, parents, Workloads and templates in other files; nothing for a name that is not known."""
    written(tmp_path, tree=TREE)

    async def steps() -> None:
        async with started(tmp_path) as editor:
            await editor.open("leaf.yaml", LEAF)
            await editor.until(lambda: editor.rules("tree.yaml"), "the files on disk")
            assert await editor.definition("leaf.yaml", 4, 5) == ("tree.yaml", 15, 13)
            assert await editor.definition("leaf.yaml", 4, 35) == ("tree.yaml", 15, 13)
            assert await editor.definition("leaf.yaml", 5, 20) == ("tree.yaml", 5, 13)
            assert await editor.definition("leaf.yaml", 5, 45) == ("tree.yaml", 11, 8)
            assert await editor.definition("leaf.yaml", 7, 5) is None
            assert await editor.definition("leaf.yaml", 2, 15) is None
            assert await editor.definition("leaf.yaml", 99, 0) is None
            await editor.open("pod.yaml", POD.replace("podGroupName: a", "podGroupName: leaf"))
            assert await editor.definition("pod.yaml", 6, 20) == ("leaf.yaml", 2, 11)

    run(steps())


def test_help_for_a_field(tmp_path: Path) -> None:
    """Description, default, limits, mutability and the reason of the rules; those of findings come first."""

    async def steps() -> None:
        async with started(tmp_path) as editor:
            await editor.open("tree.yaml", TREE)
            text = await editor.hover("tree.yaml", 12, 38)
            assert text.startswith(
                "**spec.compositePodGroupTemplates[0].podGroupTemplates[0].schedulingPolicy.gang.minCount**\n\n"
                "Minimum number of pods that are scheduled together.\n\n"
                "Limits: at least 1, at most 2,147,483,647\n\nAfter creation: can change\n\n"
                "Rule `gang-minimum`: "
            )
            await editor.open("leaf.yaml", LEAF)
            await editor.change("leaf.yaml", LEAF + "  preemptionPolicy: Never\n")
            text = await editor.hover("leaf.yaml", 8, 3)
            assert "Default: `PreemptLowerPriority`" in text
            assert "Limits: one of Never, PreemptLowerPriority" in text
            assert await editor.hover("leaf.yaml", 99, 0) == ""
            assert await editor.hover("nowhere.yaml", 0, 0) == ""

    run(steps())


def after_edits(text: str, actions: list[types.CodeAction], uri: str) -> str:
    """Apply the edits of *actions* to one line each, with columns in units of UTF-16."""
    lines = text.splitlines(keepends=True)
    for action in actions:
        assert action.edit is not None
        assert action.edit.changes is not None
        for edit in action.edit.changes[uri]:
            units = lines[edit.range.start.line].encode("utf-16-le")
            new = units[: 2 * edit.range.start.character] + edit.new_text.encode("utf-16-le") + units[2 * edit.range.end.character :]
            lines[edit.range.start.line] = new.decode("utf-16-le")
    return "".join(lines)


def test_quick_fixes(tmp_path: Path) -> None:
    """Safe fixes are preferred; a similar name of another file is offered."""
    written(tmp_path, groups=GROUP.replace("name: a", "name: workers"))
    text = GROUP.replace("minCount", "minCuont").replace("name: a", 'annotations: {"\N{PILE OF POO}/a": "b", n: 1}\n  name: c')
    pod = POD.replace("podGroupName: a", "podGroupName: worker")

    async def steps() -> None:
        async with started(tmp_path) as editor:
            await editor.open("group.yaml", text)
            actions = [*await editor.fixes("group.yaml", 3), *await editor.fixes("group.yaml", 8)]
            assert [each.title for each in actions] == [
                "schema-type: write the value as a string",
                "schema-unknown-field: rename to 'minCount'",
            ]
            assert all(each.is_preferred and each.kind == types.CodeActionKind.QuickFix and each.diagnostics for each in actions)
            fixed = after_edits(text, actions, editor.uri("group.yaml"))
            assert fixed == text.replace("n: 1", 'n: "1"').replace("minCuont", "minCount")
            assert "schema-type" not in [each.code for each in await editor.change("group.yaml", fixed)]
            assert await editor.fixes("group.yaml", 3) == []

            await editor.open("pod.yaml", pod)
            await editor.until(lambda: editor.rules("pod.yaml"), "the missing group")
            (action,) = await editor.fixes("pod.yaml", 6, only=types.CodeActionKind.QuickFix)
            assert (action.title, action.is_preferred) == ("scheduling-group-exists: replace with 'workers'", False)
            assert after_edits(pod, [action], editor.uri("pod.yaml")) == pod.replace("worker\n", "workers\n")
            assert await editor.fixes("pod.yaml", 6, only=types.CodeActionKind.Refactor) == []
            assert await editor.fixes("nowhere.yaml", 0) == []

    run(steps())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rule", "nothing=off"], "there is no rule 'nothing'"),
        (["--exclude", "!"], "must be a line of .gitignore"),
        (["file.yaml"], "unexpected extra argument"),
    ],
)
def test_mistakes_of_the_command_line(arguments: list[str], message: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "muster", "lsp", *arguments], input="", capture_output=True, text=True, timeout=WAIT_SECONDS, check=False
    )

    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert message in ran.stderr


def test_the_end_of_the_input_ends_the_server() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "muster", "lsp"], input="", capture_output=True, text=True, timeout=WAIT_SECONDS, check=False
    )

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_the_editor_ends_the_server_as_the_protocol_says() -> None:
    requests = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0"} | each) for each in requests]
    ran = subprocess.run(
        [sys.executable, "-m", "muster", "lsp"],
        input="".join(f"Content-Length: {len(each)}\r\n\r\n{each}" for each in bodies).encode(),
        capture_output=True,
        timeout=WAIT_SECONDS,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.count(b"Content-Length") == 2


WRONG = GROUP.replace("minCount: 2", "minCount: 0")


def test_the_configuration_of_the_workspace_applies_with_its_baseline(tmp_path: Path) -> None:
    """Wherever the server was started; the file is read again when it changes."""
    top, elsewhere = tmp_path / "top", tmp_path / "elsewhere"
    for each in (top / "left", elsewhere):
        each.mkdir(parents=True)
    (elsewhere / ".muster.yaml").write_text("select: [unreadable]\n", encoding="utf-8")
    (top / ".muster.yaml").write_text("rules: {gang-minimum: warning}\nexclude: [left/]\n", encoding="utf-8")
    written(top / "left", group=WRONG)
    written(top, known=WRONG.replace("name: a", "name: known"))

    async def steps() -> None:
        async with started(top, directory=elsewhere) as editor:
            (found,) = await editor.open("group.yaml", WRONG)
            assert (found.code, found.severity) == ("gang-minimum", types.DiagnosticSeverity.Warning)
            await editor.until(lambda: editor.rules("known.yaml") == ["gang-minimum"], "a finding that is not known")
            assert await editor.open("left/group.yaml") == []

            entry = {"file": "known.yaml", "document": "PodGroup default/known", "count": 1}
            entry |= {"field": "spec.schedulingPolicy.gang.minCount", "rule": "gang-minimum"}
            (top / "base.json").write_text(json.dumps({"version": 1, "findings": [entry]}), encoding="utf-8")
            (top / ".muster.yaml").write_text("baseline: base.json\n", encoding="utf-8")
            editor.changed_on_disk(".muster.yaml")
            await editor.until(lambda: editor.rules("known.yaml") == [], "the finding of the baseline is hidden")
            await editor.until(lambda: editor.rules("left/group.yaml") == ["gang-minimum"], "a file that is no longer left out")
            (found,) = await editor.change("group.yaml", WRONG + "# x\n")
            assert found.severity == types.DiagnosticSeverity.Error

            (top / ".muster.yaml").write_text("ignored: 1\n", encoding="utf-8")
            editor.changed_on_disk(".muster.yaml")
            await editor.until(lambda: editor.rules("known.yaml") == ["gang-minimum"], "no configuration")
            assert [f"muster: {top}/.muster.yaml:1: ignored: there is no such option; did you mean 'ignore'?"] == editor.messages
            editor.messages.clear()

    run(steps())


def test_options_of_the_command_line_have_precedence_over_the_workspace(tmp_path: Path) -> None:
    (tmp_path / ".muster.yaml").write_text("rules: {gang-minimum: warning}\n", encoding="utf-8")

    async def steps() -> None:
        for arguments, want in (
            (["--rule", "gang-minimum=error"], types.DiagnosticSeverity.Error),
            (["--no-config"], types.DiagnosticSeverity.Error),
            ([], types.DiagnosticSeverity.Warning),
        ):
            async with started(tmp_path, *arguments) as editor:
                (found,) = await editor.open("group.yaml", WRONG)
                assert found.severity == want

    run(steps())
