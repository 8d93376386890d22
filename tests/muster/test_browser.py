"""The browser that tests use."""

from __future__ import annotations

import pytest

from tests.muster import browser


def test_where_there_is_none_the_test_is_skipped_and_says_how_to_get_one(monkeypatch, tmp_path):
    monkeypatch.setattr(browser, "PROGRAMS", ())
    with pytest.raises(pytest.skip.Exception, match="apt-get install chromium"), browser.running(tmp_path):
        pass


def test_a_browser_that_does_not_start_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(browser, "program", lambda: "true")
    monkeypatch.setattr(browser, "_TRIES", 2)
    with pytest.raises(TimeoutError, match="does not come up"), browser.running(tmp_path):
        pass
