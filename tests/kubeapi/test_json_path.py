"""Paths to values inside JSON objects."""

from __future__ import annotations

import pytest

from kubeapi.json_path import parse_path

CONTENT = {
    "spec": {
        "groups": [{"name": "a", "size": 2}, {"name": "b"}],
        "roles": {"head": {"size": 1}, "example.com/x": {"size": 3}},
        "a.b": 5,
    }
}


@pytest.mark.parametrize(
    ("text", "want"),
    {
        "spec.groups[0].name": [(("spec", "groups", 0, "name"), "a")],
        "{.spec.groups[-1].name}": [(("spec", "groups", 1, "name"), "b")],
        "$.spec.groups[*].size": [(("spec", "groups", 0, "size"), 2)],
        "spec.roles.*.size": [(("spec", "roles", "head", "size"), 1), (("spec", "roles", "example.com/x", "size"), 3)],
        "spec.roles['example.com/x'].size": [(("spec", "roles", "example.com/x", "size"), 3)],
        'spec["a.b"]': [(("spec", "a.b"), 5)],
        r"spec.a\.b": [(("spec", "a.b"), 5)],
        "spec.groups[2]": [],
        "spec.groups.name": [],
        "spec.roles[0]": [],
        "spec.a.b": [],
    }.items(),
)
def test_values_at_a_path(text, want):
    assert want == [*parse_path(text).matches(CONTENT)]


@pytest.mark.parametrize(
    "text", ["", ".", "spec..a", "spec.", "spec[", "spec[a]", "spec[?(@.a)]", "spec[0:2]", "spec.a b", "{spec", "['a", "[99999999999]"]
)
def test_what_is_no_path_is_refused(text):
    with pytest.raises(ValueError, match="is no path of names"):
        parse_path(text)


def test_wildcards_stand_for_the_entries_of_a_place():
    path = parse_path("spec.groups[*].name")
    (_, (place, _)) = [*path.matches(CONTENT)]
    assert [((*place[:-1], "size"), 7)] == [
        *parse_path("spec.groups[*].size").with_entries(path.entries_of(place)).matches({"spec": {"groups": [{}, {"size": 7}]}})
    ]
