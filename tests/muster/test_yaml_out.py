"""YAML that is written is what the library would write, and is read back as the same values."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from muster.render import yaml_text

TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x85\u2028\u2029\ufeff\ufffe\uffff"), max_size=12)
AWKWARD = st.sampled_from(
    ["", "on", "No", "~", "null", "1", "0x1f", "1e3", "1.5", "2026-01-01", "a: b", "# a", "- a", "@a", "a\nb", " a", "=", "<<", "'", '"']
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | TEXT | AWKWARD,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT | AWKWARD, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_it_is_read_back_as_it_was(value):
    assert value == yaml.safe_load(yaml_text.dump(value))


@given(st.dictionaries(TEXT | AWKWARD, VALUES, min_size=1, max_size=4))
def test_it_is_the_librarys_own_text(value):
    class Plain(yaml.CSafeDumper):
        def ignore_aliases(self, data):
            return True

    assert yaml.dump(value, Dumper=Plain, sort_keys=False, allow_unicode=True, width=2**16) == yaml_text.dump(value)


def test_a_repeated_value_is_written_twice():
    shared = {"a": [1]}

    assert "one:\n  a:\n  - 1\nother:\n  a:\n  - 1\n" == yaml_text.dump({"one": shared, "other": shared})


@pytest.mark.parametrize("value", [1.5, -0.25, 1e30])
def test_fractions_are_read_back(value):
    assert value == float(yaml.safe_load(yaml_text.dump({"a": value}))["a"])
