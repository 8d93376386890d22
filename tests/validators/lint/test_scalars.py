"""YAML scalars have the type and value that kubectl reads."""

from __future__ import annotations

import pytest

from validators.lint import scalars

TAG = "tag:yaml.org,2002:"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("yes", True),
        ("N", False),
        ("off", False),
        ("nO", "nO"),
        ("", None),
        ("~", None),
        ("Null", None),
        ("4", 4),
        ("+4", 4),
        ("-0", 0),
        ("017", 15),
        ("0o17", 15),
        ("0x1F", 31),
        ("-0b11", -3),
        ("1_000", 1000),
        ("08", 8),
        ("4.0", 4),
        ("1e3", 1000),
        ("1.5", 1.5),
        (".5", 0.5),
        ("12:30:45", "12:30:45"),
        ("2026-11-02", "2026-11-02"),
        ("2026-11-02T09:11:05Z", "2026-11-02T09:11:05Z"),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2**64),
        ("99999999999999999999", 99999999999999999999),
        ("-99999999999999999999", -99999999999999999999),
        ("+99_999_999_999_999_999_999", 99999999999999999999),
        ("999999999999999999999999", 1e24),
        ("100000000000000000001.0", 10**20),
        ("0-7", "0-7"),
        ("-", "-"),
        ("<<", "<<"),
        ("=", "="),
        ("1.2.3", "1.2.3"),
    ],
)
def test_a_plain_scalar(text: str, want: object) -> None:
    got = scalars.plain(text)

    assert (type(want), want) == (type(got), got)


@pytest.mark.parametrize("text", [".inf", "-.Inf", ".nan", "1e999", "9" * 5000])
def test_json_has_no_such_number(text: str) -> None:
    with pytest.raises(scalars.ScalarError, match="finite"):
        scalars.plain(text)


@pytest.mark.parametrize(
    ("tag", "text", "want"),
    [
        (f"{TAG}str", "4", "4"),
        (f"{TAG}int", "4", 4),
        (f"{TAG}float", "4", 4),
        (f"{TAG}bool", "on", True),
        (f"{TAG}null", "", None),
        (f"{TAG}timestamp", "2026-11-02", "2026-11-02"),
        (f"{TAG}binary", "aGkgdGhlcmU=", "hi there"),
        ("!secret", "4", "4"),
        ("!", "4", "4"),
    ],
)
def test_a_tagged_scalar(tag: str, text: str, want: object) -> None:
    assert want == scalars.tagged(tag, text)


@pytest.mark.parametrize(("tag", "text"), [("int", "abc"), ("bool", "4"), ("int", "yes"), ("binary", "a"), ("binary", "\u00e4")])
def test_a_scalar_that_is_not_what_its_tag_says(tag: str, text: str) -> None:
    with pytest.raises(scalars.ScalarError, match=tag):
        scalars.tagged(TAG + tag, text)


@pytest.mark.parametrize(("value", "want"), [("a", "a"), (True, "true"), (False, "false"), (7, "7"), (1.5, "1.5"), (None, None)])
def test_a_key_is_a_string(value: scalars.Scalar, want: str | None) -> None:
    assert want == scalars.key(value)
