"""An attribute that is made when it is first asked for, and kept.

As ``functools.cached_property``, without the lock that Python 3.11 still takes each time: it costs more than most of what
is made here, and what uses it belongs to one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class Once(Generic[T]):
    """Decorates a method without arguments.  The class must have a ``__dict__``."""

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
        # What stands in the instance is found before this is asked again.
        made = instance.__dict__[self._name] = self._make(instance)
        return made
