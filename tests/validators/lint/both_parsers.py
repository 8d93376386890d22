"""Documents that are read by both parsers of YAML: the fast one gives the values and places of the other, or nothing."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from validators.lint import fast_yaml, fast_yaml_places, yaml_text
from validators.lint.places import Chunk, Fault, Lines, Place


def check(text: str) -> bool:
    """Compare both results for *text*; return whether there are two."""
    fast = fast_yaml.mapping(text)
    if fast is None:
        return False
    try:
        slow = yaml_text.values(text)
    except Fault as fault:
        raise AssertionError(f"{text!r} has an error: {fault.message}") from None
    # Types and order are compared too: repr distinguishes 1, 1.0 and True.
    assert repr(slow) == repr([fast]), text
    shapes, values = fast_yaml.lines(text) or ((), [])
    assert repr(fast_yaml._compiled(shapes)(*values)) == repr(fast), text
    places = fast_yaml_places.survey(text)
    assert places is None or repr(places) == repr(yaml_text.survey(text)), text
    check_fields(text, fast)
    return True


def _not_needed(_: str) -> Place:
    raise AssertionError("the places of all fields are not needed")


def check_fields(text: str, content: object) -> None:
    """Compare the spans of single fields, and of fields that are absent, with those of all places."""
    one_by_one = Chunk(Lines(text), 0, text, _not_needed, find=fast_yaml_places.extent)
    whole = Chunk(Lines(text), 0, text, yaml_text.survey)
    for parts in paths_in(content):
        one_by_one._fields_left = one_by_one.lines._positions_left = 1
        extent = fast_yaml_places.extent(text, parts)
        if extent is None:
            assert "[" in text or "{" in text, (text, parts)
        else:
            want = whole.span((), FieldPath(*parts))
            assert one_by_one.span((), FieldPath(*parts)) == want, (text, parts)
            assert one_by_one.lines.text(want.line) == whole.lines.text(want.line)


def paths_in(content: object, parts: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of all fields, and for each the paths of a key and of items that it does not have."""
    yield from (parts, (*parts, "absent"), (*parts, -1), (*parts, 9), (*parts, "absent", 0))
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for part, value in inside:
        yield from paths_in(value, (*parts, part))
