"""Values are written so that every YAML reader reads them with the same type."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from validators.lint import yaml_text
from validators.migrate import formatting

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,12}[a-z0-9])?", fullmatch=True)
TREES = st.recursive(
    st.one_of(NAMES, st.integers(-(2**63), 2**63 - 1), st.booleans(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("value", "quote", "want"),
    [
        pytest.param("workers", "", "workers", id="a name"),
        pytest.param("scheduling.k8s.io/v1beta1", "", "scheduling.k8s.io/v1beta1", id="a version"),
        pytest.param("workers", "'", "'workers'", id="single quotes stay"),
        pytest.param("workers", '"', '"workers"', id="double quotes stay"),
        pytest.param("it's", "'", '"it\'s"', id="a quote inside"),
        *(
            pytest.param(status_text, "", f'"{status_text}"', id=f"{status_text} is something else")
            for status_text in ("on", "null", "12", "1e3", "0x1f", "1.5")
        ),
        *(
            pytest.param(status_text, "", f'"{status_text}"', id=f"{status_text} is something else to others")
            for status_text in ("2026-11-02", "0o7")
        ),
        pytest.param("", "", '""', id="empty"),
        pytest.param({"all": {}}, "", "{all: {}}", id="a mapping"),
        pytest.param([1, {"a": True}], "", "[1, {a: true}]", id="a list"),
    ],
)
def test_a_value_on_one_line_of_yaml(value: object, quote: str, want: str) -> None:
    assert want == formatting.yaml(value, quote)


@given(TREES)
def test_yaml_on_one_line_is_read_as_what_it_was(value: object) -> None:
    assert yaml_text.values(formatting.yaml(value)) == [value]


@given(NAMES)
def test_a_name_is_a_name_to_a_stricter_reader_too(name: str) -> None:
    assert yaml.safe_load(formatting.yaml(name)) == name


@given(st.dictionaries(NAMES, TREES, min_size=1, max_size=4))
def test_lines_of_yaml_are_read_as_what_they_were(content: dict[str, object]) -> None:
    assert yaml_text.values("\n".join(formatting.yaml_lines(content))) == [content]


@pytest.mark.parametrize(
    ("sample", "want"),
    [
        pytest.param('{"a":1}', '{"b": {"c": 1}}', id="one line"),
        pytest.param('{\n  "a": 1\n}', '{\n  "b": {\n    "c": 1\n  }\n}', id="two blanks"),
        pytest.param('{\n\t"a": 1\n}', '{\n\t"b": {\n\t\t"c": 1\n\t}\n}', id="tabs"),
        pytest.param('{\n"a": 1\n}', '{\n  "b": {\n    "c": 1\n  }\n}', id="no indentation"),
    ],
)
def test_json_is_laid_out_as_its_neighbour(sample: str, want: str) -> None:
    assert want == formatting.json_like({"b": {"c": 1}}, sample, indentation="", newline="\n", compact=False)


def test_json_on_one_line_has_blanks_where_its_neighbour_has() -> None:
    assert formatting.json_like({"b": [1, 2]}, "{}", indentation="", newline="\n", compact=True) == '{"b":[1,2]}'


def test_json_inside_a_list_is_indented_as_the_list_is() -> None:
    laid_out = formatting.json_like({"b": 1}, '{\r\n      "a": 1\r\n    }', indentation="    ", newline="\r\n", compact=False)

    assert laid_out == '{\r\n      "b": 1\r\n    }'
    assert json.loads(laid_out) == {"b": 1}
