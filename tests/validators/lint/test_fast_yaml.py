"""Documents in the usual layout: values and places of ``fast_yaml`` are those of ``yaml_text``; else it returns None."""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sampling import every
from tests.validators.lint.both_parsers import check
from tests.validators.lint.test_cases import CASES
from validators import rules
from validators.lint import fast_yaml, yaml_stream

EXAMPLES = [each.yaml for rule in rules.discover().values() for each in (*rule.good, *rule.bad)]
MANIFESTS = [path.read_bytes().decode("utf-8", "replace") for case in CASES for path in sorted((case / "input").rglob("*.y*ml"))]
FORMS = ("k{}:", "k{}: v", "- k{}:", "- k{}: v", "- v", "- - v", "- - k{}: v", "- - k{}:", "", "# c", "k{}: {{}}", "- []", "k{}: 'q'")
ATOMS = (
    *("0", "1", "7", "9", "_", ".", "-", "+", "e", "E", "x", "o", "b", "a", "f", "inf", "nan", "true", "null", "y", "on", "off", "No", "~"),
    *(
        " ",
        "  ",
        ": ",
        ":",
        "#",
        " #",
        "'",
        '"',
        "[",
        "]",
        "{",
        "}",
        ",",
        ", ",
        "- ",
        "/",
        "\\",
        "&",
        "*",
        "!",
        "|",
        ">",
        "%",
        "@",
        "`",
        "?",
    ),
    *("=", "<<", "2024-01-01", "T", "12:30:45", "é", "\u0085", "\u2028", "\ufeff", "\x07", "\t", "\r", "$", "(", ")", "\U0001f600"),
)
FRAMES = (
    *(
        "a: {}",
        "{}: v",
        "a: [{}]",
        "a: [x, {}]",
        "a: {{b: {}}}",
        "a: '{}'",
        'a: "{}"',
        "{}",
        "# {}",
        "a: 1 # {}",
        "a:\n- {}\n- b",
        "{{{}: a}}",
    ),
    *("a: [{{b: {}, c: [{}]}}, d]", "a: {{{}, b: c}}", "a: {}]", "a: {}}}", "- [{}]\n- {}", "a: [b, [{}]]", "{}"),
    *(
        "a: {}\nb: {}",
        "{}: 1\n{}: 2",
        "a:\n- - {}",
        "a: {}\n\n",
        "---\na: {}",
        "a: {}\r\nb: {}\r\n",
        "%YAML 1.1\n---\na: {}",
        "a: {}\n  b",
        "? {}",
    ),
)


def layouts(lines: int, forms: tuple[str, ...]) -> Iterator[str]:
    """Yield all texts of some lines, each of one of the forms, with indents of 0 to 4."""
    for chosen in itertools.product(itertools.product(range(5), forms), repeat=lines):
        yield "\n".join(" " * indent + form.format(number) for number, (indent, form) in enumerate(chosen))


def test_layouts_of_two_lines() -> None:
    assert sum(map(check, layouts(2, FORMS))) > 500


def test_layouts_of_three_lines() -> None:
    """274,625 texts in all: ``make soak``."""
    texts = every(67, list(layouts(3, FORMS)))
    assert sum(map(check, texts)) > len(texts) // 40


@pytest.mark.parametrize("text", [*EXAMPLES, *MANIFESTS])
def test_manifests(text: str) -> None:
    for _, document in yaml_stream.split(text):
        check(document)


def test_most_examples_of_the_rules_are_in_the_usual_layout() -> None:
    parts = [document for text in EXAMPLES for _, document in yaml_stream.split(text)]
    assert sum(map(check, parts)) > 0.8 * len(parts)


@given(st.lists(st.sampled_from(ATOMS), max_size=5).map("".join), st.sampled_from(FRAMES), st.sampled_from(("", "z: 1\n", "z:\n")))
def test_any_scalars(scalar: str, frame: str, before: str) -> None:
    check(before + frame.replace("{{", "\0").replace("}}", "\1").replace("{}", scalar).replace("\0", "{").replace("\1", "}"))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a: on",
            "a: Yes",
            "y: 1",
            "a: ~",
            "a: null",
            "a: 0o17",
            "a: 0777",
            "a: 1_000",
            "a: 1e3",
            "a: 1.0",
            "a: .inf",
            "a: 0x1F",
            "true: 1",
        ),
        *(
            "a: [b\n]",
            "a: [b]c",
            "a: [b,, c]",
            "a: {b}",
            "a: [b: c]",
            "a: [[[[[[[[[[b]]]]]]]]]]",
            "a: ['b'c]",
            "a: {b: }",
            "a: [ b ]",
            "a: {b: c, b: d}",
        ),
        *(
            "a: &x 1\nb: *x",
            "a: !!str 1",
            "<<: {a: b}",
            "a: |\n  text",
            "a: b\n c",
            "a: 'b\n  c'",
            "a:\t1",
            "a: 1\n...",
            "%YAML 1.1\n---\na: 1",
        ),
        *(
            "\ufeffa: 1",
            "a: [on]",
            "a: {b: off}",
            "1: a",
            "- a",
            "a",
            "",
            "# c",
            "a: 1\na: 2",
            "a: [b",
            "a: 1\n  b: 2",
            "a: \x07",
            "a: '\u2028'",
        ),
        *("a: b\rc: d", "a: " + "b" * 2000, "a:\n" + "\n".join(" " * n + "b:" for n in range(1, 90))),
    ],
)
def test_left_to_the_parser_with_positions(text: str) -> None:
    assert fast_yaml.mapping(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\nb: -2\nc: 1.5\nd: true\ne: False", {"a": 1, "b": -2, "c": 1.5, "d": True, "e": False}),
        ("a: '1'\nb: \"on\"\nc: 'é'", {"a": "1", "b": "on", "c": "é"}),
        ("a: 10.0.0.1\nb: 16Gi\nc: b:c\nd: -m\ne: x & y # z", {"a": "10.0.0.1", "b": "16Gi", "c": "b:c", "d": "-m", "e": "x & y"}),
        ("---\na:\n- b: 1\n  c:\n  - - d\n", {"a": [{"b": 1, "c": [["d"]]}]}),
        ("# head\n  a:\n#\n    b: [1, {c: 'd'}, x]\n    # e\n  f:\n", {"a": {"b": [1, {"c": "d"}, "x"]}, "f": None}),
        (
            "a: [b, 'c', 1]\nd: {e: f}\ng: []\nh: {}\r\ni: 2024-01-01\r\n",
            {"a": ["b", "c", 1], "d": {"e": "f"}, "g": [], "h": {}, "i": "2024-01-01"},
        ),
    ],
)
def test_values(text: str, value: object) -> None:
    assert fast_yaml.mapping(text) == value
    assert check(text)


def test_the_known_lines_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_yaml, "_MOST_KNOWN", 10)
    for number in range(50):
        fast_yaml.mapping(f"a{number}: {number}")
        assert fast_yaml.mapping("\n".join(f"b{each}: {number}" for each in range(15))) == {f"b{each}": number for each in range(15)}
    assert len(fast_yaml._shapes) <= 12
    assert len(fast_yaml._values) <= 12


def test_documents_of_one_shape_have_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    monkeypatch.setattr(fast_yaml, "_plans", {})
    monkeypatch.setattr(fast_yaml, "built", lambda *lines, made=fast_yaml.built: built.append(lines) or made(*lines))
    number = fast_yaml._REPEATED + 5
    texts = [f"---\na: {{}}\n# {each}\nb:\n- c: {each}\n  d: [u, w]\n- e\nf: v{each}\n" for each in range(number)]
    read = [fast_yaml.mapping(text) for text in texts]
    assert read == [{"a": {}, "b": [{"c": each, "d": ["u", "w"]}, "e"], "f": f"v{each}"} for each in range(number)]
    assert len(built) == fast_yaml._REPEATED + 2  # and once for the plan
    one, other = read[-2:]
    assert one["a"] is not other["a"]
    assert one["b"][0]["d"] is not other["b"][0]["d"]


def test_no_plan_for_long_documents_and_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_yaml, "_plans", {})
    for text in ("\n".join(f"a{each}: b" for each in range(fast_yaml._MOST_LINES + 1)), "a: b\na: b", "a: b\n  c: d"):
        for _ in range(fast_yaml._REPEATED + 2):
            fast_yaml.mapping(text)
    assert not fast_yaml._plans


def test_the_number_of_plans_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_yaml, "_MOST_PLANS", 10)
    for number in range(50):
        fast_yaml.mapping(f"a{number}: b")
    assert len(fast_yaml._plans) <= 10


def test_deep_documents_have_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_yaml, "_plans", {})
    text = "\n".join([*(" " * each + f"k{each}:" for each in range(60)), " " * 60 + "- - - - - a: b"])
    read = [fast_yaml.mapping(text) for _ in range(fast_yaml._REPEATED + 3)]
    assert read[0] is not None
    assert all(each == read[0] for each in read)
    assert callable(*fast_yaml._plans.values())


def test_plans_are_compiled_before_they_are_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A KeyboardInterrupt in the evaluation of a text makes Python end by SIGINT, even if it is handled."""
    evaluated: list[object] = []
    monkeypatch.setattr(fast_yaml, "eval", lambda code, names: evaluated.append(code) or eval(code, names), raising=False)
    shapes, values = fast_yaml.lines("a: b") or ((), [])
    assert fast_yaml._compiled(shapes)(*values) == {"a": "b"}
    assert [type(each) for each in evaluated] == [types.CodeType]
