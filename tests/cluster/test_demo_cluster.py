"""``muster demo --cluster`` on the control plane's programs: it shows what it promises, and nothing of it is left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from muster import demo_plane, demo_text
from muster.demo_server import ServerError
from muster.demo_stage import DATA


def environment(folder, assets):
    place = {name: value for name, value in os.environ.items() if not name.startswith(("MUSTER_", "KUBE"))}
    return {**place, "TMPDIR": str(folder), "KUBEBUILDER_ASSETS": str(assets)}


def processes(folder):
    """Those that have *folder* on their command lines."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [each.parent.name] if str(folder).encode() in each.read_bytes() else []
        except OSError:
            continue
    return found


def section(shown, number):
    return re.split(r"^\d  ", shown, flags=re.MULTILINE)[number].replace("\n      ", " ")


@pytest.fixture(scope="module")
def ended(programs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "muster", "demo", "--cluster"]
    done = subprocess.run(command, env=environment(folder, programs.folder), capture_output=True, text=True, timeout=100, check=False)
    return folder, done


def test_it_runs_to_its_end_and_leaves_nothing(ended):
    folder, done = ended

    assert (0, "") == (done.returncode, done.stderr)
    assert [] == list(folder.iterdir())
    assert [] == processes(folder)


def test_its_lines_fit(ended):
    assert [] == [line for line in ended[1].stdout.splitlines() if len(line) > demo_text.WIDTH]


def test_admission_refuses_what_only_muster_refuses(ended):
    shown = section(ended[1].stdout, 2)

    assert 'admission webhook "groups.muster.dev" denied the request' in shown
    assert "all-needs-gang" in shown
    assert "workload.scheduling.k8s.io/training created" in shown


def test_the_training_run_is_placed_zone_by_rack(ended):
    shown = section(ended[1].stdout, 3)
    rows = re.findall(r"^ +(stage-\d)-\d +(\S+) +(\S+) +(\S+)$", shown, re.MULTILINE)

    assert 8 == len(rows)
    assert 1 == len({zone for *_, zone in rows})
    assert 2 == len({(stage, rack) for stage, _, rack, _ in rows}) == len({rack for _, _, rack, _ in rows})
    for line in ("compositepodgroup/training-run: CompositePodGroup", "podgroup/stage-0: PodGroup", "podgroup/stage-1: PodGroup"):
        assert f"{line}InitiallyScheduled=True (Scheduled)" in shown


def test_the_notebooks_leave_for_the_evaluation(ended):
    shown = section(ended[1].stdout, 4)

    assert ["notebook-0", "notebook-1"] == re.findall(r"pod/(\S+): DisruptionTarget=True \(PreemptionByScheduler\)", shown)
    assert "podgroup/evaluation: PodGroupInitiallyScheduled=True (Scheduled)" in shown


def test_an_invalid_tree_is_told_and_mended_and_one_without_room_told_why(ended):
    shown = section(ended[1].stdout, 5)

    assert "podgroup/labelling: PodGroupInitiallyScheduled=False (Invalid): the tree is invalid:" in shown
    assert "(pod-priority-matches)" in shown
    assert "podgroup/labelling: PodGroupInitiallyScheduled=True (Scheduled)" in shown
    assert "podgroup/sweep: PodGroupInitiallyScheduled=False (Unschedulable):" in shown
    assert "rack-d holds 3 (short of 4 nvidia.com/gpu: 12 free, 16 needed)" in shown


def test_sigterm_in_the_middle_leaves_nothing(programs, tmp_path):
    command = [sys.executable, "-u", "-m", "muster", "demo", "--cluster"]
    with subprocess.Popen(command, env=environment(tmp_path, programs.folder), stdout=subprocess.PIPE, text=True) as running:
        try:
            while "kube-apiserver 1." not in (line := running.stdout.readline()):
                assert line, "it ended before its control plane was there"
            assert processes(tmp_path)
            running.send_signal(signal.SIGTERM)
            assert 128 + signal.SIGTERM == running.wait(60)
        finally:
            running.kill()
    assert [] == list(tmp_path.iterdir())
    assert [] == processes(tmp_path)


@pytest.mark.parametrize(
    ("ours", "shipped"),
    [
        ("namespace.yaml", "base/namespace.yaml"),
        ("webhook-rbac.yaml", "base/rbac.yaml"),
        ("webhooks.yaml", "base/webhooks.yaml"),
        ("sidecar-rbac.yaml", "sidecar/rbac.yaml"),
    ],
)
def test_what_it_installs_is_what_deploy_has(ours, shipped):
    """A package cannot reach out of itself: it has copies."""
    assert (DATA.parents[1] / "deploy" / shipped).read_text() == (DATA / "cluster" / ours).read_text()


def test_a_folder_that_lacks_a_program_is_told(tmp_path, monkeypatch):
    (tmp_path / "etcd").write_text("")
    (tmp_path / "etcd").chmod(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))

    with pytest.raises(ServerError, match=re.escape(f"{tmp_path} has no kube-apiserver that can be run")):
        demo_plane.programs()


def test_without_programs_it_is_one_clear_line(tmp_path):
    place = {name: value for name, value in os.environ.items() if name != "KUBEBUILDER_ASSETS"}
    command = [sys.executable, "-m", "muster", "demo", "--cluster"]
    done = subprocess.run(command, env=place, capture_output=True, text=True, timeout=60, check=False)

    assert (2, "", 1) == (done.returncode, done.stdout, done.stderr.count("\n"))
    assert done.stderr.startswith("muster demo: KUBEBUILDER_ASSETS must name a folder with etcd and kube-apiserver")
    assert "make cluster-assets" in done.stderr


def test_a_program_that_does_not_start_is_told_with_its_last_lines(tmp_path, monkeypatch):
    for name in demo_plane.PROGRAMS:
        (tmp_path / name).write_text("#!/bin/sh\necho no room >&2\nexit 3\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    (tmp_path / "files").mkdir()

    with pytest.raises(ServerError, match="etcd does not start: no room"), demo_plane.running(tmp_path / "files", ()):
        pass
