"""YAML to values, by the fast parser where it can, and to the places of one document; and both for files that change."""

from __future__ import annotations

from validators.lint import fast_yaml, fast_yaml_places
from validators.lint.limits import Repeats
from validators.lint.places import Place


def values(text: str) -> list[object]:
    """Return the documents in *text* as JSON-like values."""
    return read(text)[0]


def read(text: str, repeats: Repeats | None = None) -> tuple[list[object], bool]:
    """Return the documents in *text* as JSON-like values, and whether it is one mapping in the usual layout, see ``fast_yaml_places``.

    For *repeats*, see ``yaml_text.values``.
    """
    content = fast_yaml.mapping(text)
    if content is not None:
        return [content], True
    from validators.lint import yaml_text  # imported on demand: most files are in the usual layout, and start-up must be fast

    return yaml_text.values(text, repeats), False


def survey(text: str, number: int) -> Place:
    """Return the places of one document in *text*; *number* counts from 0."""
    place = fast_yaml_places.survey(text)
    if place is not None:
        return place
    from validators.lint import yaml_text  # as above

    return yaml_text.survey(text, number)


class ParsedTexts:
    """Parsed YAML documents of one file by their text, so that a document whose text did not change is not parsed again.

    It keeps only the documents of the last two versions of the file.
    """

    def __init__(self) -> None:
        self._before: dict[str, _ParsedText] = {}
        self._now: dict[str, _ParsedText] = {}

    def begin(self) -> None:
        """Forget the documents that the last version of the file did not have."""
        self._before, self._now = self._now, {}

    def values(self, text: str) -> list[object]:
        """Return the documents in *text* as JSON-like values; the same objects as for the last version of the file."""
        parsed = self._now.get(text) or self._before.get(text) or _ParsedText(text)
        self._now[text] = parsed
        return parsed.values

    def survey(self, text: str, number: int) -> Place:
        """Return the places of one document in *text*; *number* counts from 0."""
        places = self._now[text].places if text in self._now else {}
        return places.get(number) or places.setdefault(number, survey(text, number))


class _ParsedText:
    """Values of one text, and the places of the documents in it for which they were needed."""

    __slots__ = ("places", "values")

    def __init__(self, text: str) -> None:
        self.values = values(text)
        self.places: dict[int, Place] = {}
