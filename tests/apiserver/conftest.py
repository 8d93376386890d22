"""Fixtures of the tests of watches."""

from __future__ import annotations

from types import SimpleNamespace

import pytest


@pytest.fixture
def clock(monkeypatch):
    """Replace the watcher's clock by one that the test moves, and its random waits by the longest."""
    result = SimpleNamespace(now=0.0)
    monkeypatch.setattr("apiserver.watch.time", SimpleNamespace(monotonic=lambda: result.now))
    monkeypatch.setattr("apiserver.watch.random", SimpleNamespace(uniform=lambda _, most: most, randrange=lambda _: 7))
    return result
