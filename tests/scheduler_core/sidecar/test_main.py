"""The process: how it ends."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from apiserver.connection import Connection
from scheduler_core.sidecar.process.loop import Loop
from scheduler_core.sidecar.process.main import run, warn_of_gates
from scheduler_core.sidecar.settings import Mode, Settings
from tests.apiserver.fake import serving
from validators.gates import Gates
from validators.rule_options import gate_switches

ANYWHERE = ("127.0.0.1", 0)


@pytest.mark.parametrize(
    ("minor", "written", "message"),
    [
        (38, "PodGroupPreemptionPolicy=true", "there is no feature gate 'PodGroupPreemptionPolicy' in Kubernetes 1.38"),
        (37, "PodGroupPreemptionPolicy=true", ""),
        (38, "", ""),
    ],
)
def test_gates_that_the_version_of_the_server_does_not_have_are_logged(minor, written, message):
    lines: list[tuple[str, str, Mapping[str, Any]]] = []
    warn_of_gates(Settings(gates=Gates.from_switches(gate_switches([written]))), minor, lambda *line: lines.append(line))
    assert ([("warning", "gates")] if message else []) == [line[:2] for line in lines]
    assert all(message in line[2]["message"] for line in lines)


def nothing_served(_method: str, path: str, _body: bytes) -> tuple[int, dict[str, str], Any]:
    return (200, {}, {"minor": "37"}) if path == "/version" else (404, {}, {})


@pytest.mark.parametrize("mode", [Mode.PLACE, Mode.VALIDATE])
def test_a_process_of_which_a_thread_died_says_so_and_ends_with_an_error(mode, monkeypatch):
    lines: list[tuple[str, str, Mapping[str, Any]]] = []

    def dies(_loop: Loop) -> None:
        raise ZeroDivisionError("what nobody expected")

    monkeypatch.setattr(Loop, "run", dies)
    monkeypatch.setattr("sys.setswitchinterval", lambda _: None)
    before = threading.excepthook
    with serving(nothing_served) as (_, api):
        connection = Connection(api.host)
        settings = Settings(modes=frozenset({mode}), lease=None, identity="one")
        with pytest.raises(SystemExit) as raised:
            run(connection, settings, ANYWHERE, log=lambda *line: lines.append(line), as_json=lambda decision: decision)

    assert (1, before) == (raised.value.code, threading.excepthook)
    (told,) = [fields for level, event, fields in lines if (level, event) == ("error", "died")]
    assert "loop" == told["thread"]
    assert told["reason"].endswith("ZeroDivisionError: what nobody expected\n")
