"""Objects before a change, matched with the objects after it by kind, namespace and name.

A file that was renamed or split makes no difference.  If several files have an object of the same name, the one at the same place is
compared, or the only one that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from kubeapi.base_structs import Record
from validators import pipeline
from validators.lint.documents import Manifest
from validators.model.objects import Object, namespace_of

Identity = tuple[str, str, str]


class Placed(Record, frozen=True):
    """Object with the place of its file: equal for a file before and after the change."""

    place: str
    object: Object

    @property
    def identity(self) -> Identity:
        """Kind, namespace and name."""
        return self.object.kind, namespace_of(self.object), self.object.metadata.name


class Before(Record, frozen=True):
    """Objects before a change; *place* returns the place of a file after it, see ``Placed``."""

    objects: Iterable[Placed]
    place: Callable[[str], str]

    def matched(self, after: Iterable[tuple[str, Object]]) -> list[Object | None]:
        """Return the object before the change of each object with its file."""
        return _matched(self.objects, [Placed(self.place(file), item) for file, item in after])


def objects_in(place: str, manifest: Manifest) -> Iterator[Placed]:
    """Yield the objects of a file that can be compared; what cannot be read is left out."""
    for document in manifest.documents:
        known = pipeline.decode_for_lookup(document.content)
        if known is not None and known.metadata.name:
            yield Placed(place, known)


def _matched(before: Iterable[Placed], after: Sequence[Placed]) -> list[Object | None]:
    """Return, for each object of *after*, the same object before the change; None if there is none or the choice is ambiguous."""
    wanted = {each.identity for each in after}
    left: dict[Identity, list[Placed]] = {}
    for each in before:
        if each.identity in wanted:
            left.setdefault(each.identity, []).append(each)
    result: list[Object | None] = [None] * len(after)
    moved: dict[Identity, list[int]] = {}
    for number, each in enumerate(after):
        candidates = left.get(each.identity, [])
        same = next((old for old in candidates if old.place == each.place), None)
        if same is not None:
            candidates.remove(same)
            result[number] = same.object
        elif candidates:
            moved.setdefault(each.identity, []).append(number)
    for identity, numbers in moved.items():
        if len(numbers) == len(left[identity]) == 1:
            result[numbers[0]] = left[identity][0].object
    return result
