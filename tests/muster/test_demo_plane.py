"""The demonstration's control plane: its programs are looked at before anything is started."""

from __future__ import annotations

import json
import re
import stat

import pytest

from muster.commands.demo import local_control_plane
from muster.commands.demo.webhook_server import ServerError

WANTED = "KUBEBUILDER_ASSETS must name a folder with etcd, kube-apiserver and kubectl of Kubernetes 1.37 or newer"


def folder_of(tmp_path, names=local_control_plane.PROGRAMS, program="#!/bin/sh\necho Kubernetes v1.37.1\n"):
    for name in names:
        (tmp_path / name).write_text(program)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def found(folder, monkeypatch):
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(folder))
    return local_control_plane.find()


@pytest.mark.parametrize(
    ("version", "want"),
    [
        pytest.param("Kubernetes v1.37.0", "v1.37.0", id="the oldest that will do"),
        pytest.param("Kubernetes v1.40.2-rc.1+abc", "v1.40.2-rc.1+abc", id="a newer one"),
    ],
)
def test_a_folder_with_all_programs_is_taken(tmp_path, monkeypatch, version, want):
    folder = folder_of(tmp_path, program=f"#!/bin/sh\necho {version}\n")
    assert local_control_plane.Programs(tmp_path, want) == found(folder, monkeypatch)


@pytest.mark.parametrize("missing", local_control_plane.PROGRAMS)
def test_a_program_that_is_missing_is_named(tmp_path, monkeypatch, missing):
    folder = folder_of(tmp_path, [name for name in local_control_plane.PROGRAMS if name != missing])
    with pytest.raises(ServerError, match=re.escape(f"{WANTED}; {folder} has no executable {missing}")):
        found(folder, monkeypatch)


@pytest.mark.parametrize("named", ["nowhere", "file"])
def test_a_path_that_is_not_a_directory_is_reported(tmp_path, monkeypatch, named):
    (tmp_path / "file").write_text("")
    with pytest.raises(ServerError, match=re.escape(f"{WANTED}; there is no folder {tmp_path / named}")):
        found(tmp_path / named, monkeypatch)


def test_without_a_folder_the_message_names_the_command(monkeypatch):
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    with pytest.raises(ServerError, match=f"^{re.escape(WANTED)}, and is not set; .*make cluster-assets"):
        local_control_plane.find()


@pytest.mark.parametrize(
    ("program", "want"),
    [
        pytest.param("#!/bin/sh\necho Kubernetes v1.36.9\n", "prints 'Kubernetes v1.36.9'", id="older"),
        pytest.param("#!/bin/sh\necho what >&2\n", "prints 'what'", id="something else"),
        pytest.param("\x00", "does not: Exec format error", id="of another machine"),
    ],
)
def test_unsuitable_programs_are_reported_before_the_start(tmp_path, monkeypatch, program, want):
    with pytest.raises(ServerError, match=f"^[^\n]*{re.escape(want)}$"):
        found(folder_of(tmp_path, program=program), monkeypatch)


def test_a_program_that_does_not_start_is_reported_with_its_last_lines(tmp_path):
    programs = local_control_plane.Programs(folder_of(tmp_path, program="#!/bin/sh\necho no room >&2\nexit 3\n"), "v1.37.1")
    (tmp_path / "files").mkdir()

    with pytest.raises(ServerError, match="etcd does not start: no room"), local_control_plane.running(programs, tmp_path / "files", ()):
        pass


def test_tokens_are_for_their_owner_alone_and_the_administrators_alone_is_one(tmp_path):
    kubeconfigs = local_control_plane._files(tmp_path, "https://127.0.0.1:1", (local_control_plane.ADMIN, "other"))
    tokens = [line.split(",") for line in (tmp_path / "tokens.csv").read_text().splitlines()]

    assert [("demo", '"system:masters"'), ("other", '""')] == [(user, groups) for _, user, _, groups in tokens]
    assert [each[0] for each in tokens] == [json.loads(path.read_text())["users"][0]["user"]["token"] for path in kubeconfigs.values()]
    for path in (*kubeconfigs.values(), tmp_path / "tokens.csv", tmp_path / "tls.key"):
        assert 0o600 == stat.S_IMODE(path.stat().st_mode)
