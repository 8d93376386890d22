"""Formats: DNS labels, subdomains, label keys and others, on both sides of each limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi import content


@pytest.mark.parametrize(
    ("value", "good"),
    [
        pytest.param("a", True, id="one letter"),
        pytest.param("0", True, id="one digit"),
        pytest.param("a" * 63, True, id="the longest"),
        pytest.param("a" * 64, False, id="one too long"),
        pytest.param("a-b", True, id="a dash inside"),
        pytest.param("-a", False, id="a dash in front"),
        pytest.param("a-", False, id="a dash at the end"),
        pytest.param("a.b", False, id="a dot"),
        pytest.param("A", False, id="a capital"),
        pytest.param("", False, id="nothing"),
        pytest.param("a\n", False, id="a line end"),
        pytest.param("é", False, id="beyond ASCII"),
    ],
)
def test_label(value: str, good: bool) -> None:
    assert good == (not content.label(value))


@given(st.lists(st.text(alphabet="ab-.A\n", max_size=5), max_size=4))
def test_many_labels_at_once_agree_with_one_by_one(values: list[str]) -> None:
    assert all(not content.label(value) for value in values) == content.all_labels(values)


def test_very_many_labels_agree_too() -> None:
    """One match over all labels detects an invalid one in any position."""
    values = [f"a{number}" for number in range(200)]

    assert content.all_labels(values)
    for bad in ("", "A", "a\n", "a-", "x" * 64):
        assert not content.all_labels([*values[:100], bad, *values[100:]])


def test_many_labels_at_the_longest() -> None:
    assert content.all_labels(["a" * 63, "b" * 63])
    assert not content.all_labels(["a" * 63, "b" * 64])


@pytest.mark.parametrize(
    ("value", "good"),
    [
        pytest.param("a.b-c.d", True, id="several parts"),
        pytest.param("a" * 253, True, id="the longest"),
        pytest.param("a" * 254, False, id="one too long"),
        pytest.param("a..b", False, id="an empty part"),
        pytest.param(".a", False, id="a dot in front"),
        pytest.param("a_b", False, id="an underscore"),
    ],
)
def test_subdomain(value: str, good: bool) -> None:
    assert good == (not content.subdomain(value))


@pytest.mark.parametrize(
    ("value", "good"),
    [
        pytest.param("rack", True, id="no prefix"),
        pytest.param("topology.kubernetes.io/Rack_1.a", True, id="a prefix"),
        pytest.param("a" * 253 + "/" + "b" * 63, True, id="the longest of both"),
        pytest.param("a" * 254 + "/b", False, id="prefix too long"),
        pytest.param("b" * 64, False, id="name too long"),
        pytest.param("Example.com/b", False, id="a capital in the prefix"),
        pytest.param("/b", False, id="an empty prefix"),
        pytest.param("a/", False, id="an empty name"),
        pytest.param("a/b/c", False, id="two slashes"),
        pytest.param("-a", False, id="a dash in front"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_label_key(value: str, good: bool) -> None:
    assert good == (not content.label_key(value))


@pytest.mark.parametrize(
    ("value", "want"),
    [
        pytest.param("Job", [], id="a kind"),
        pytest.param(".", ["may not be '.'"], id="a dot"),
        pytest.param("..", ["may not be '..'"], id="two dots"),
        pytest.param("a/b", ["may not contain '/'"], id="a slash"),
        pytest.param("a%b/", ["may not contain '/'", "may not contain '%'"], id="both"),
    ],
)
def test_path_segment(value: str, want: list[str]) -> None:
    assert want == content.path_segment(value)


def test_limits_count_bytes() -> None:
    """As in Go, a letter of two bytes counts twice."""
    assert content.label_value("é" * 32)[:1] == ["must be no more than 63 bytes"]
    assert content.label_value("a" * 63) == []


@pytest.mark.parametrize(("prefix", "want"), [("workers-", "workera"), ("workers", "workers"), ("-", "-")])
def test_mask_trailing_dash(prefix: str, want: str) -> None:
    assert want == content.mask_trailing_dash(prefix)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0", 0),
        ("7", 7),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("0" * 5000 + "1", 1),
        ("9" * 5000, None),
        ("", None),
        ("-1", None),
        ("+1", None),
        (" 1", None),
        ("1.0", None),
        ("\u00b2", None),
        ("\u0663", None),
    ],
)
def test_whole_numbers_are_those_that_go_reads(text: str, want: int | None) -> None:
    assert want == content.whole_number(text)
