"""Messages of decoding errors."""

import pytest

from kubeapi import decode


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ("Expected `int | null`, got `str` - at `$.spec.priority`", "spec.priority must be a whole number, not a string"),
        ("Expected `int` <= 2147483647 - at `$.spec.priority`", "spec.priority must be at most 2147483647"),
        ("Expected `int` >= -1 - at `$.a[0].b`", "a[0].b must be at least -1"),
        ("Expected `array | null`, got `object` - at `$.spec.containers`", "spec.containers must be a list, not an object"),
        ("Expected `str`, got `bool` - at `$.metadata.labels[...]`", "a value of metadata.labels must be a string, not true or false"),
        ("Expected `object`, got `array`", "it must be an object, not a list"),
        ("Object missing required field `key` - at `$.spec.taints[0]`", "spec.taints[0].key is missing"),
        ("Object missing required field `key`", "key is missing"),
        ("Integer value out of range - at `$.a`", "a: Integer value out of range"),
        ("Something else", "it: Something else"),
    ],
)
def test_a_wrong_shape_is_reported_with_its_field(message, texts):
    assert texts == decode.shape_error(message)


def test_null_in_a_map_is_empty_and_null_in_place_of_a_field_is_absent():
    metadata = {"name": "a", "labels": {"a": None, "b": "c"}, "annotations": None}
    container = {"resources": {"limits": {"cpu": None}, "requests": [None]}, "image": None}

    assert {
        "metadata": {"name": "a", "labels": {"a": "", "b": "c"}},
        "spec": {"nodeSelector": {"disk": ""}, "containers": [{"resources": {"limits": {"cpu": 0}, "requests": [None]}}]},
    } == decode.plain({"metadata": metadata, "spec": {"nodeSelector": {"disk": None}, "containers": [container]}, "status": None})


@pytest.mark.parametrize("other", [None, 1.0, -0.0, 1e300])
def test_what_is_read_only_is_as_plain(other):
    value = {"labels": {"a": "ü", "b": "192 203"}, "list": [1, 2.5, 203, 2**63, True, {}], "text": "null"}

    assert decode.as_plain(value) == decode.plain(value)
    for changed in ({**value, "other": other}, {**value, "list": [[{"labels": {"a": other}}]]}, {**value, "big": 2**70, "other": other}):
        assert repr(decode.plain(changed)) == repr(decode.as_plain(changed))


def test_a_plain_value_is_the_same_object():
    value = {"labels": {"a": "b"}, "n": [1, True]}

    assert value is decode.as_plain(value)
