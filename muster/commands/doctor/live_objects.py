"""Objects of a live cluster; those that cannot be read are problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apiserver.api import TRANSPORT, Api, ReplyError
from kubeapi import decode
from kubeapi.problem import Problem
from muster.commands.snapshot.live_cluster import NOT_FOUND, PAGE, ClusterError, list_pages
from muster.doctor.manifests import mapping_at, mappings_at, text_at
from muster.doctor.world import Item
from muster.render.file_notes import RefusedRequest, RequestRefused
from workloadbuilder.adapters.shared.known_objects import group_of

Query = Sequence[tuple[str, str]]


class LiveObjects:
    """Reader of objects; ``problems`` has what could not be read, and ``unread`` the resources concerned, such as ``services``."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.problems: list[Problem] = []
        self.unread: set[str] = set()
        self._items: dict[tuple[str, str, str, str], Item] = {}

    @property
    def items(self) -> tuple[Item, ...]:
        """Return all kept objects, each once."""
        return tuple(self._items.values())

    def keep(self, path: str, query: Query = ()) -> None:
        """List objects and keep them."""
        for item in self.listed(path, query):
            self.add(item)

    def keep_one(self, path: str) -> None:
        """Read one object and keep it; one that does not exist is ignored."""
        try:
            self.add(Item(_object(self.api.read(path))))
        except ReplyError as error:
            if error.code != NOT_FOUND:
                self.problems.append(Problem(RequestRefused(RefusedRequest.READ, str(error)), place=path))
                self.unread.add(path.split("/")[-2])

    def add(self, item: Item) -> None:
        """Keep an object."""
        self._items.setdefault((group_of(text_at(item.content, "apiVersion")), item.kind, item.namespace, item.name), item)

    def listed(self, path: str, query: Query = ()) -> Iterator[Item]:
        """Yield the objects of a list; if it cannot be read, add a problem.

        Raises:
            ClusterError: there is no answer.

        """
        try:
            for page in list_pages(self.api, path, [("limit", str(PAGE)), *query]):
                content = _object(page)
                head = {"apiVersion": text_at(content, "apiVersion"), "kind": text_at(content, "kind").removesuffix("List")}
                yield from (Item({**head, **each}) for each in mappings_at(content, "items"))
        except ReplyError as error:
            self.problems.append(Problem(RequestRefused(RefusedRequest.LIST, str(error)), place=path))
            self.unread.add(path.rpartition("/")[2])
        except (ValueError, *TRANSPORT) as error:
            raise ClusterError(f"{self.api.host} cannot be read: {' '.join(str(error).split())[:300]}") from None


def _object(text: bytes) -> dict[str, object]:
    return dict(mapping_at(decode.parse(text)))
