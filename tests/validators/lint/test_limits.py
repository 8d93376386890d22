"""Limits on nesting, aliases, number of values and size of a file."""

from __future__ import annotations

import itertools

import pytest

from tests.validators.lint.parsing import HEAD, kinds, parse, unreadable
from validators.lint import limits

# Limits


@pytest.mark.parametrize("file", ["a.yaml", "a.json"])
def test_nesting_has_a_limit(file: str) -> None:
    def nested(depth: int) -> str:
        return '{"kind": "A", "a": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}"

    assert kinds(parse(nested(limits.DEEPEST), file)) == ["Document"]
    assert kinds(parse(nested(limits.DEEPEST + 1), file)) == ["Unreadable"]


@pytest.mark.parametrize(
    "text", ["a: " + "[" * 100_000, "- " * 100_000, "? " * 100_000, "[" * 100_000], ids=["flow", "lists", "keys", "json"]
)
def test_nesting_without_end_is_unreadable_and_no_crash(text: str) -> None:
    assert kinds(parse(text)) == ["Unreadable"]
    assert kinds(parse(text, "a.json")) == ["Unreadable"]


def test_depth_behind_aliases_counts() -> None:
    half = limits.DEEPEST // 2
    text = f"{HEAD}a: &a {'[' * half}{']' * half}\nb: " + "[" * (half - 1) + "{}" + "]" * (half - 1) + "\n"

    assert kinds(parse(text.format("*a"))) == ["Document"]
    assert kinds(parse(text.replace("{}", "[*a]"))) == ["Unreadable"]


def test_aliases_of_aliases_are_refused_and_not_followed() -> None:
    names = [chr(ord("a") + number) for number in range(12)]
    text = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    for before, name in itertools.pairwise(names):
        text += f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"

    assert "2,000,000" in unreadable(HEAD + text).message


def test_merged_mappings_count_at_each_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merging copies keys; a copy counts as an alias does."""
    monkeypatch.setattr("validators.lint.yaml_events.MOST_NODES", 100)
    text = HEAD + "a: &a {b: 1, c: 1}\nl:\n"

    assert kinds(parse(text + "- {<<: *a}\n" * 8)) == ["Document"]
    assert "100" in unreadable(text + "- {<<: *a}\n" * 16).message


@pytest.mark.parametrize("file", ["a.yaml", "a.json"])
def test_the_number_of_values_has_a_limit(monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    monkeypatch.setattr("validators.lint.yaml_events.MOST_NODES", 50)
    monkeypatch.setattr("validators.lint.json_text.MOST_NODES", 50)
    short, long = (f'{{"kind": "A", "a": [{", ".join("1" * length)}]}}' for length in (40, 60))

    assert kinds(parse(short, file)) == ["Document"]
    assert kinds(parse(f"{short}\n{short}", file)) == ["Document", "Document"]
    assert "at most 50 values" in unreadable(long, file).message


def test_a_file_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validators.lint.documents.LARGEST_FILE", len(HEAD))

    assert kinds(parse(HEAD)) == ["Document"]
    assert "at most" in unreadable(HEAD + " ").message
