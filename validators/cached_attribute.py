"""Attribute that is computed on first access and kept.

As ``functools.cached_property``, but without the lock of Python 3.11.  The lock costs more than most of these attributes,
and the objects that have them belong to one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class Once(Generic[T]):
    """Decorator of a method without arguments.  The class must have a ``__dict__``."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Once[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Once[T] | T:
        if instance is None:
            return self
        # An entry of the instance's __dict__ takes precedence over this descriptor: the method is called once.
        value = instance.__dict__[self._name] = self._make(instance)
        return value
