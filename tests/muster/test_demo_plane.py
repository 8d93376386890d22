"""The demonstration's control plane: its programs, what is laid out for it, and how its failures are reported."""

from __future__ import annotations

import base64
import json
import re
import stat
from pathlib import Path

import pytest
import yaml

from muster.commands.demo import child_processes, cluster_demo, local_control_plane
from muster.commands.demo.child_processes import ServerError, Shell

WANTED = "KUBEBUILDER_ASSETS must name a folder with etcd, kube-apiserver and kubectl of Kubernetes 1.30 or newer"
READY = "#!/bin/sh\necho ready to serve client requests\nexec sleep 60\n"


def folder_of(tmp_path, names=local_control_plane.PROGRAMS, program=READY):
    for name in names:
        (tmp_path / name).write_text(program)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def found(folder, monkeypatch):
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(folder))
    return local_control_plane.find()


@pytest.fixture
def manifests(tmp_path):
    local_control_plane.copy_manifests(tmp_path / "manifests")
    return tmp_path / "manifests"


def test_a_folder_with_all_programs_is_taken(tmp_path, monkeypatch):
    assert tmp_path == found(folder_of(tmp_path), monkeypatch)


@pytest.mark.parametrize("missing", local_control_plane.PROGRAMS)
def test_a_program_that_is_missing_is_named(tmp_path, monkeypatch, missing):
    folder = folder_of(tmp_path, [name for name in local_control_plane.PROGRAMS if name != missing])
    with pytest.raises(ServerError, match=re.escape(f"{WANTED}; {folder} has no executable {missing}")):
        found(folder, monkeypatch)


@pytest.mark.parametrize(
    ("printed", "want"),
    [
        ("Kubernetes v1.37.1", {"GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup", "PodGroupPreemptionPolicy"}),
        ("Kubernetes v1.38.0-beta.0", {"GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup"}),
        ("Kubernetes v1.36.2", set()),
        ("Kubernetes v1.30.14", set()),
        ("no version", set()),
    ],
)
def test_an_api_server_gets_only_gates_with_which_it_starts(tmp_path, printed, want):
    program = folder_of(tmp_path, ["kube-apiserver"], f"#!/bin/sh\necho {printed}\n") / "kube-apiserver"

    flags = dict(each.split("=", 1) for each in local_control_plane._apiserver("etcd", 1, program))

    assert want == {each.removesuffix("=true") for each in flags.get("--feature-gates", "").split(",") if each}
    assert bool(want) is ("--runtime-config" in flags)


@pytest.mark.parametrize("named", ["nowhere", "file"])
def test_a_path_that_is_not_a_directory_is_reported(tmp_path, monkeypatch, named):
    (tmp_path / "file").write_text("")
    with pytest.raises(ServerError, match=re.escape(f"{WANTED}; {tmp_path / named} has no executable etcd")):
        found(tmp_path / named, monkeypatch)


def test_without_a_folder_the_message_names_the_command(monkeypatch):
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    with pytest.raises(ServerError, match=f"^{re.escape(WANTED)}, and is not set; .*make cluster-assets"):
        local_control_plane.find()


@pytest.mark.parametrize(
    ("name", "program", "want"),
    [
        pytest.param("etcd", "#!/bin/sh\necho no room >&2\nexit 3\n", "etcd does not start: no room", id="it ends"),
        pytest.param(
            "kube-apiserver",
            "#!/bin/sh\necho 'unrecognized feature gate: CompositePodGroup'\nexit 1\n",
            "kube-apiserver does not start: unrecognized feature gate: CompositePodGroup",
            id="older",
        ),
        pytest.param("kube-apiserver", "\x00", "kube-apiserver does not start: Exec format error", id="of another machine"),
    ],
)
def test_a_program_that_does_not_start_is_reported_with_what_is_required(tmp_path, name, program, want):
    programs = folder_of(tmp_path)
    (programs / name).write_text(program)
    (tmp_path / "files").mkdir()

    with pytest.raises(ServerError, match=f"^{re.escape(f'{WANTED}: {want}')}$"), local_control_plane.running(programs, tmp_path / "files"):
        pass


def test_tokens_are_for_their_owner_alone_and_the_administrators_alone_is_one(tmp_path):
    kubeconfig = local_control_plane._kubeconfig(tmp_path, "https://127.0.0.1:1")
    content = json.loads(kubeconfig.read_text())
    tokens = [line.split(",") for line in (tmp_path / "tokens.csv").read_text().splitlines()]

    account = "system:serviceaccount:muster-system:muster-"
    assert [("admin", '"system:masters"'), (f"{account}webhook", '""'), (f"{account}sidecar", '""')] == [
        (user, groups) for _, user, _, groups in tokens
    ]
    assert [each[0] for each in tokens] == [user["user"]["token"] for user in content["users"]]
    assert "admin" == content["current-context"]
    assert ["admin", "webhook", "sidecar"] == [each["name"] for each in content["contexts"]] == [each["name"] for each in content["users"]]
    for path in (kubeconfig, tmp_path / "tokens.csv"):
        assert 0o600 == stat.S_IMODE(path.stat().st_mode)


def test_the_key_of_the_servers_is_for_its_owner_alone(tmp_path):
    Shell(tmp_path).run(child_processes.ISSUE)

    assert 0o600 == stat.S_IMODE((tmp_path / "certs/tls.key").stat().st_mode)


def test_every_file_that_a_command_names_is_there(manifests):
    named = re.findall(r"-f ([\w-]+\.yaml)", Path(cluster_demo.__file__).read_text(encoding="utf-8"))

    assert len(named) > 5
    assert [] == [name for name in named if not (manifests / name).is_file()]


def test_what_is_applied_at_once_is_all_that_its_kustomization_names(manifests):
    (kustomization,) = manifests.glob("deploy/kustomization.yaml")

    wanted = {*yaml.safe_load(kustomization.read_text(encoding="utf-8"))["resources"], kustomization.name}
    assert wanted == {each.name for each in (manifests / "deploy").iterdir()}


def test_webhooks_are_called_by_url_and_are_else_as_they_are_shipped(manifests):
    path = manifests / "webhooks.yaml"
    shipped = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    local_control_plane._call_by_url(path, "https://127.0.0.1:1", b"authority")
    made = json.loads(path.read_text(encoding="utf-8"))["items"]
    clients = [each.pop("clientConfig") for configuration in made for each in configuration["webhooks"]]
    paths = [each.pop("clientConfig")["service"]["path"] for configuration in shipped for each in configuration["webhooks"]]

    assert shipped == made
    authority = base64.b64encode(b"authority").decode()
    assert [{"url": f"https://127.0.0.1:1{path}", "caBundle": authority} for path in paths] == clients


def test_pods_of_the_demonstration_are_for_the_sidecar(manifests):
    files = ("training.yaml", "evaluation.yaml", "labelling.yaml", "mended.yaml", "sweep.yaml")
    pods = [each for name in files for each in yaml.safe_load_all((manifests / name).read_text(encoding="utf-8")) if each["kind"] == "Pod"]

    assert 17 == len(pods)
    assert {"muster"} == {pod["spec"]["schedulerName"] for pod in pods}
