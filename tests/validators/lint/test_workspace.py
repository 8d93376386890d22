"""Linting of files that change: after each edit, the findings of every file are those of linting all files anew."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping

import pytest

from tests.sampling import sampled
from tests.validators.lint.test_cases import CASES
from validators import pipeline, rules
from validators.lint import documents, lint_files
from validators.lint.documents import Unreadable
from validators.lint.finding import Finding
from validators.lint.workspace import Workspace
from validators.lint.yaml_values import ParsedTexts
from validators.rules.base import Settings

SETTINGS = Settings(linting=True)
EXAMPLES = [each.yaml for rule in rules.discover().values() for each in (*rule.good, *rule.bad)]
TEXTS = [
    *EXAMPLES,
    *(
        text
        for case in CASES
        for path in sorted((case / "input").rglob("*.yaml"))
        if len(text := path.read_bytes().decode("utf-8", "replace")) < 4000
    ),
]
SMALL_WORDS = re.compile(r"(?<=: )[\w.-]+$", re.MULTILINE)

GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: {name}
spec:
  schedulingPolicy:
    gang:
      minCount: 2
"""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: {name}
spec:
  schedulingGroup:
    podGroupName: {group}
  containers: []
"""


class Editor:
    """Files that are edited, and the workspace that follows them."""

    def __init__(self) -> None:
        self.workspace = Workspace(SETTINGS)
        self.texts: dict[str, str] = {}
        self._parsed: dict[str, ParsedTexts] = {}

    def write(self, **texts: str) -> frozenset[str]:
        manifests = []
        for name, text in texts.items():
            self.texts[name] = text
            parsed = self._parsed.setdefault(name, ParsedTexts())
            parsed.begin()
            manifests.append(documents.parse(name, text.encode(), parsed))
        return self.workspace.update(manifests)

    def remove(self, name: str) -> frozenset[str]:
        del self.texts[name]
        return self.workspace.update((), [name])

    def rules(self, file: str) -> list[str]:
        return [each.rule for each in self.workspace.findings(file)]

    def findings(self) -> dict[str, tuple[Finding, ...]]:
        return {name: self.workspace.findings(name) for name in self.texts}

    def whole(self) -> dict[str, tuple[Finding, ...]] | None:
        """Lint all files anew; None if one has an unreadable document."""
        manifests = [documents.parse(name, text.encode()) for name, text in self.texts.items()]
        if any(isinstance(part, Unreadable) for each in manifests for part in each.parts):
            return None
        report = lint_files.run(manifests, settings=SETTINGS)
        return {name: tuple(each for each in report.findings if each.file == name) for name in self.texts}


def removed_document(text: str, rng: random.Random) -> str:
    parts = text.split("---\n")
    del parts[rng.randrange(len(parts))]
    return "---\n".join(parts)


def doubled_document(text: str, rng: random.Random) -> str:
    parts = text.split("---\n")
    parts.insert(rng.randrange(len(parts) + 1), rng.choice(parts))
    return "---\n".join(parts)


def other_word(text: str, rng: random.Random) -> str:
    words = list(SMALL_WORDS.finditer(text))
    if not words:
        return text
    one, other = rng.choice(words), rng.choice(list(SMALL_WORDS.finditer(rng.choice(TEXTS))) or words)
    return text[: one.start()] + other.group() + text[one.end() :]


def removed_line(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    del lines[rng.randrange(len(lines)) :][:1]
    return "".join(lines)


def new_comment(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines) + 1), f"# {rng.random()}\n")
    return "".join(lines)


EDITS: tuple[Callable[[str, random.Random], str], ...] = (removed_document, doubled_document, other_word, removed_line, new_comment)


@pytest.mark.parametrize("seed", range(sampled(150, share=10)))
def test_after_each_edit_the_findings_are_those_of_all_files(seed: int) -> None:
    rng = random.Random(seed)
    editor = Editor()
    editor.write(**{f"f{number}.yaml": rng.choice(TEXTS) for number in range(5)})
    for _ in range(12):
        before = editor.findings()
        name = rng.choice(sorted(editor.texts)) if editor.texts else ""
        text = editor.texts.get(name, "")
        if not text or rng.random() < 0.15:
            changed = editor.write(**{f"f{rng.randrange(9)}.yaml": rng.choice(TEXTS)})
        elif rng.random() < 0.1:
            changed = editor.remove(name)
        else:
            changed = editor.write(**{name: rng.choice(EDITS)(text, rng)})
        whole = editor.whole()
        after = editor.findings()
        assert whole is None or whole == after
        assert {name for name in before.keys() & after.keys() if before[name] != after[name]} <= changed


def test_a_reference_follows_the_group_in_another_file() -> None:
    editor = Editor()
    editor.write(pods=POD.format(name="p", group="a"), groups=GROUP.format(name="a"), more=GROUP.format(name="b"))
    assert editor.rules("pods") == []

    assert editor.write(groups=GROUP.format(name="c")) == {"groups", "pods"}
    assert editor.rules("pods") == ["scheduling-group-exists"]

    assert editor.write(more=GROUP.format(name="a")) == {"more", "pods"}
    assert editor.rules("pods") == []


def test_only_what_depends_on_a_change_is_validated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    editor = Editor()
    pods = {f"p{number}": POD.format(name=f"p{number}", group=f"g{number}") for number in range(50)}
    editor.write(**pods, groups="---\n".join(GROUP.format(name=f"g{number}") for number in range(50)))
    validated: list[str] = []
    examined: list[object] = []

    def validate(new: pipeline.Object, *arguments: object, **options: object) -> object:
        validated.append(f"{new.kind} {new.metadata.name}")
        return original_validate(new, *arguments, **options)  # type: ignore[arg-type]

    def examine(content: Mapping[str, object], settings: Settings) -> pipeline.Examined:
        examined.append(content)
        return original_examine(content, settings)

    original_validate, original_examine = pipeline.validate_document, pipeline.examine
    monkeypatch.setattr(pipeline, "validate_document", validate)
    monkeypatch.setattr(pipeline, "examine", examine)

    editor.write(groups=editor.texts["groups"].replace("name: g7\n", "name: g7\n  # why\n"))
    assert (validated, len(examined)) == (["PodGroup g7"], 1)

    validated.clear()
    assert editor.write(groups=editor.texts["groups"].replace("name: g7\n", "name: h7\n")) == {"groups", "p7"}
    assert sorted(validated) == ["Pod p7", "PodGroup h7"]


def test_a_tree_follows_the_labels_of_nodes() -> None:
    """What nodes mean for a tree is computed once for all of its groups; each of them depends on the nodes."""
    tree = """\
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: top}
spec:
  workloadRef: {workloadName: w, templateName: t}
  schedulingPolicy: {basic: {}}
  schedulingConstraints: {topology: [{key: rack}]}
"""
    child = """\
apiVersion: scheduling.k8s.io/v1alpha3
kind: PodGroup
metadata: {name: NAME}
spec:
  parentCompositePodGroupName: top
  workloadRef: {workloadName: w, templateName: t}
  schedulingPolicy: {basic: {}}
  schedulingConstraints: {topology: [{key: zone}]}
"""
    nodes = "".join(
        f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: n{number}, labels: {{rack: r{rack}, zone: z{zone}}}}}\n"
        for number, (rack, zone) in enumerate([(1, 1), (2, 1), (3, 2)])
    )
    editor = Editor()
    editor.write(a=child.replace("NAME", "a"), b=child.replace("NAME", "b"), top=tree, nodes=nodes)
    assert (editor.rules("a"), editor.rules("b")) == (["topology-narrows"], ["topology-narrows"])
    editor.write(b=child.replace("NAME", "c"))

    editor.write(nodes=nodes.replace("rack", "x").replace("zone", "rack").replace("x:", "zone:"))

    assert editor.findings() == editor.whole()
    assert (editor.rules("a"), editor.rules("b")) == ([], [])


@pytest.mark.parametrize("broken", ["  name: [a", "\tname: a", "  name: a\n  name: b"])
def test_objects_of_a_half_written_document_remain_known(broken: str) -> None:
    editor = Editor()
    editor.write(pods=POD.format(name="p", group="a"), groups=GROUP.format(name="b") + "---\n" + GROUP.format(name="a"))
    editor.write(groups=editor.texts["groups"].replace("  name: a", broken))

    assert editor.rules("groups") == ["unreadable"]
    assert editor.rules("pods") == []

    editor.write(groups=editor.texts["groups"].replace("minCount: 2", "minCount: 3", 1))
    assert editor.rules("pods") == []

    editor.write(groups=editor.texts["groups"].replace(broken, "  name: c"))
    assert (editor.rules("groups"), editor.rules("pods")) == ([], ["scheduling-group-exists"])


def test_a_document_whose_text_is_the_same_is_not_parsed_again() -> None:
    parsed = ParsedTexts()
    text = GROUP.format(name="a") + "---\n" + GROUP.format(name="b")
    contents = []
    for each in (text, text.replace("name: a", "name: c"), "# first\n" + text.replace("name: a", "name: c")):
        parsed.begin()
        contents.append(
            [part.content for part in documents.parse("f", each.encode(), parsed).parts if isinstance(part, documents.Document)]
        )

    assert contents[0][1] is contents[1][1]
    assert contents[1][1] is contents[2][1]
    assert contents[0][0] is not contents[1][0]
