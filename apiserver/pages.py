"""Lists that are read in pages."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from apiserver.api import Api

PAGE = 500
"""Maximum number of objects in a page."""


class PageMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """``metadata`` of a list, or of an object."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, frozen=True):
    """A part of a list, or all of it; each item is JSON text.  Every list has items, if only null: an object without them is no list."""

    items: tuple[msgspec.Raw, ...] | None
    metadata: PageMetadata = PageMetadata()


_PAGE = msgspec.json.Decoder(Page)


def pages(api: Api, path: str, limit: int | None = PAGE, labels: str = "") -> Iterator[Page]:
    """Yield the pages of the list at *path*, each of at most *limit* objects; None: one page with all objects.

    *labels* is a label selector; empty for all objects.

    Raises:
        ReplyError: the status is not 2xx; 410 if the continue token expired between two pages.
        ValueError: a response cannot be decoded.
        OSError, urllib3.exceptions.HTTPError: there is no response.

    """
    query = [("limit", str(limit))] if limit is not None else []
    query += [("labelSelector", labels)] if labels else []
    page_query = query
    while True:
        page = _PAGE.decode(api.read(path, page_query))
        yield page
        if not page.metadata.continue_:
            return
        page_query = [*query, ("continue", page.metadata.continue_)]
