"""Views have the fields that a reader needs, and all else of a struct."""

from __future__ import annotations

import json
from typing import ClassVar

import msgspec
import pytest

from kubeapi.meta import Struct
from kubeapi.view import Views


class Port(Struct, frozen=True, gc=False):
    """Struct in another one."""

    host_ip: str = msgspec.field(default="", name="hostIP")
    number: int = 0


class Other(Struct, frozen=True, gc=False):
    """Struct in place of another one."""

    text: str = ""


class Base(Struct, frozen=True, gc=False):
    """Base of a struct."""

    name: str
    labels: dict[str, str] | None = None


class Item(Base, frozen=True, gc=False, kw_only=True):
    """Struct with a view."""

    port: Port
    ports: tuple[Port, ...] | None = None
    main: Port = Port()
    items: tuple[Item, ...] | None = None
    kind: ClassVar[str] = "Item"

    @property
    def title(self) -> str:
        """Name with the kind."""
        return f"{self.kind} {self.name}"


def view(*unread: tuple[type[Struct], str], **options):
    return Views(lambda struct, name: (struct, name) not in unread, **options).of_struct(Item)


def decoded(model, **fields):
    return msgspec.json.decode(json.dumps(fields), type=model)


def test_a_struct_that_is_needed_whole_is_its_own_view():
    assert view() is Item


def test_a_field_that_is_not_read_is_unknown_everywhere():
    model = view((Port, "number"), (Base, "labels"))
    found = decoded(model, name="a", labels=7, port={"hostIP": "::", "number": "x"}, ports=[{"number": []}])

    assert ("Item a", "::") == (found.title, found.port.host_ip)
    assert (found.main,) == found.ports
    assert not hasattr(found, "labels")
    assert ("name", "port", "ports", "main", "items") == model.__struct_fields__


def test_required_fields_stay_required():
    with pytest.raises(msgspec.ValidationError, match="missing required field `port`"):
        decoded(view((Port, "number")), name="a")


def test_required_fields_may_be_absent_on_request():
    found = decoded(view(optional=True))

    assert ("", Port()) == (found.name, found.port)


def test_types_can_be_replaced():
    model = view(instead={Port: Other, (Base, "labels"): object})
    found = decoded(model, name="a", labels=7, port={"text": "b"}, ports=[{"text": "c"}])

    assert (7, Other("b"), (Other("c"),), Other()) == (found.labels, found.port, found.ports, found.main)
