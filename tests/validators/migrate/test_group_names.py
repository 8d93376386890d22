"""Names of generated PodGroups: valid, and the same for the same reference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi import content
from validators.migrate.group_names import group_name

LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True)
SUBDOMAIN = st.lists(LABEL, min_size=1, max_size=4).map(".".join).filter(lambda name: len(name) <= 253)


@pytest.mark.parametrize(
    ("parts", "want"),
    [
        pytest.param(("train", "workers", ""), "train-workers", id="without a replica key"),
        pytest.param(("train", "workers", "r0"), "train-workers-r0", id="with a replica key"),
        pytest.param(("a" * 61 + "." + "b" * 61, "c" * 63, "d" * 63), f"{'a' * 61}.{'b' * 61}-{'c' * 63}-{'d' * 63}", id="as it is"),
        pytest.param(("w" * 125 + "x", "c" * 63, "d" * 62), f"{'w' * 125}x-{'c' * 63}-{'d' * 62}", id="253 bytes"),
    ],
)
def test_the_name_is_made_of_what_is_named(parts: tuple[str, str, str], want: str) -> None:
    assert want == group_name(*parts)


def test_a_name_that_would_be_too_long_ends_in_a_hash() -> None:
    name = group_name("w" * 127, "c" * 63, "d" * 62)

    assert len(name) == 253
    assert name.startswith("w" * 127 + "-" + "c" * 63 + "-")
    assert name != group_name("w" * 127, "c" * 63, "d" * 61 + "e")


def test_a_name_in_use_gets_a_hash_that_distinguishes_references() -> None:
    one, other = group_name("a", "b-c", "", taken={"a-b-c"}), group_name("a-b", "c", "", taken={"a-b-c"})

    assert one.startswith("a-b-c-")
    assert other.startswith("a-b-c-")
    assert one != other


@given(SUBDOMAIN, LABEL, st.one_of(st.just(""), LABEL), st.booleans())
def test_every_name_is_legal(workload: str, group: str, key: str, is_taken: bool) -> None:
    plain = group_name(workload, group, key)
    name = group_name(workload, group, key, taken={plain} if is_taken else ())

    assert content.subdomain(name) == []
    assert (name == plain) is not is_taken
