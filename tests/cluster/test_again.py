"""Few tests on a control plane get a second attempt; nothing else does, and a test that fails again fails the run."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.cluster import again

LIVE = "tests/cluster/test_join.py::test_a"


@pytest.fixture
def attempt(monkeypatch, tmp_path, capsys):
    """Return a function that returns the exit status, the tests that were run, and the errors."""

    def attempted(failed, status):
        ran = []
        monkeypatch.setattr(again, "FAILED", tmp_path / "lastfailed")
        if failed is not None:
            again.FAILED.write_text(json.dumps(dict.fromkeys(failed, True)))
        monkeypatch.setattr(
            again.subprocess, "run", lambda command, **_: (ran.extend(command[3:]), subprocess.CompletedProcess(command, status))[1]
        )
        return again.main(), ran, capsys.readouterr().err

    return attempted


@pytest.mark.parametrize("status", [0, 1])
def test_the_second_attempt_decides(attempt, status):
    ended, ran, errors = attempt([LIVE], status)

    assert (status, [LIVE]) == (ended, ran)
    assert (LIVE in errors) == (status == 0)


@pytest.mark.parametrize(
    ("failed", "why"),
    [
        (None, "no test of the last run failed"),
        ([LIVE, "tests/validators/test_depth.py::test_b"], "tests/validators/test_depth.py::test_b"),
        (["tests/cluster/test_join.py"], "tests/cluster/test_join.py"),
        (["tests/cluster/test_worlds.py::test_c"], "rare faults"),
        (["tests/cluster/test_sidecar_crash_gates.py::test_d"], "rare faults"),
        ([f"{LIVE}[{number}]" for number in range(again.MOST + 1)], f"more than {again.MOST}"),
    ],
    ids=["none", "another", "not collected", "a world", "a crash", "many"],
)
def test_others_get_none(attempt, failed, why):
    ended, ran, errors = attempt(failed, 0)

    assert (1, []) == (ended, ran)
    assert why in errors
