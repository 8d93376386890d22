"""``muster demo --cluster`` on the control plane's programs: it shows what it promises, and nothing of it is left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from muster.commands.demo.terminal import DATA, WIDTH
from scheduler_core.behavior.scheduler_behavior import behavior_of
from tests.deploy import rendered

ROOT = Path(__file__).parents[2]
SECONDS = 270
"""It runs for half a minute where nothing else does."""


def environment(folder, assets):
    place = {name: value for name, value in os.environ.items() if not name.startswith(("MUSTER_", "KUBE"))}
    return {**place, "TMPDIR": str(folder), "KUBEBUILDER_ASSETS": str(assets)}


def processes(folder):
    """Those that work in *folder*, or have it on their command lines."""
    results = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            works = (each / "cwd").readlink().is_relative_to(folder)
            results += [each.name] if works or str(folder).encode() in (each / "cmdline").read_bytes() else []
        except OSError:
            continue
    return results


def section(shown, number):
    return re.split(r"^\d  ", shown, flags=re.MULTILINE)[number]


def printed(shown, command):
    """Return the output below *command* up to the next empty line."""
    return shown.partition(f"$ {command}\n")[2].partition("\n\n")[0]


def joined(text):
    """Folded lines joined, and one space where there are several."""
    return " ".join(text.split())


def steady(text):
    """Without what differs from one run to the next: ages, ports, and with the ages the widths of columns."""
    return re.sub(r" +", " ", re.sub(r"\b\d+s\b", "0s", re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:0", text)))


@pytest.fixture(scope="module")
def ended(programs, tmp_path_factory):
    return run(programs, tmp_path_factory.mktemp("demo"))


def run(programs, folder):
    command = [sys.executable, "-m", "muster", "demo", "--cluster"]
    done = subprocess.run(command, env=environment(folder, programs.folder), capture_output=True, text=True, timeout=SECONDS, check=False)
    return folder, done


def test_it_runs_to_its_end_and_leaves_nothing(ended):
    folder, done = ended

    assert (0, "") == (done.returncode, done.stderr)
    assert [] == list(folder.iterdir())
    assert [] == processes(folder)


def test_its_lines_fit(ended):
    assert [] == [line for line in ended[1].stdout.splitlines() if len(line) > WIDTH]


def test_everything_is_installed_and_takes_its_rights_from_roles(ended, programs):
    output = section(ended[1].stdout, 1)

    assert f"Server Version: v1.{programs.minor()}." in output
    for mode in ("validate", "place", "preempt", "protect"):
        assert f"clusterrole.rbac.authorization.k8s.io/muster-sidecar-{mode} created" in printed(output, "kubectl apply -k deploy")
    for kind in ("validating", "mutating"):
        assert f"{kind}webhookconfiguration.admissionregistration.k8s.io/muster created" in printed(
            output, "kubectl apply -f webhooks.yaml -f join.yaml"
        )


def test_admission_refuses_what_only_muster_refuses(ended):
    messages = printed(section(ended[1].stdout, 2), "kubectl create -f refused.yaml")

    assert joined(messages).startswith('The CompositePodGroup "train" is invalid: spec.parentCompositePodGroupName: Invalid value:')
    assert joined(messages).endswith("[muster: parent-acyclic]")


def test_the_training_run_is_placed_zone_by_rack(ended):
    racks = dict(re.findall(r"^ +(\w\d) .* (z\d +rack-\w)$", section(ended[1].stdout, 2), re.MULTILINE))
    displayed = section(ended[1].stdout, 3)
    places = [(stage, racks[node].split()) for stage, node in re.findall(r"^ +stage-\d-\d +(stage-\d) +(\w\d)$", displayed, re.MULTILINE)]

    assert 8 == len(places)
    assert 1 == len({zone for _, (zone, _) in places})
    assert 2 == len({(stage, rack) for stage, (_, rack) in places}) == len({rack for _, (_, rack) in places})
    assert 2 == len(re.findall(r"podgroup\S+/stage-\d +Gang +training +Scheduled ", displayed))
    assert "8 pods are bound, in topology.kubernetes.io/zone z1" in joined(
        printed(displayed, "kubectl describe compositepodgroup training-run")
    )


def test_the_notebooks_leave_for_the_evaluation(ended):
    output = section(ended[1].stdout, 4)

    assert ["notebook-0", "notebook-1"] == re.findall(r"(\S+) +muster: preempting to accommodate a higher priority podgroup", output)
    assert ["c1", "c2"] == sorted(re.findall(r"Preempted by PodGroup research/evaluation on node (\w\d)", output))
    assert "podgroup.scheduling.k8s.io/evaluation condition met" in output
    assert ["c1", "c2"] == sorted(re.findall(r"evaluation-\d +evaluation +(\w\d)$", output, re.MULTILINE))


def test_an_invalid_tree_is_reported_and_mended(ended, programs):
    reason = behavior_of(programs.minor()).invalid_pod_group
    output = section(ended[1].stdout, 5)
    messages = joined(printed(output, "kubectl describe podgroup labelling"))

    assert "Message: the tree is invalid: all pods in a single pod group should have the same priority" in messages
    assert f"research/labelling-1 (pod-priority-matches) Reason: {reason} Status: False Type: PodGroupInitiallyScheduled" in messages
    assert "podgroup.scheduling.k8s.io/labelling condition met" in output.partition("The fix")[2]


def test_a_group_without_capacity_gets_a_reason_and_what_would_help(ended):
    output = section(ended[1].stdout, 6)

    assert re.search(r"sweep +Gang +<none> +Unschedulable ", output)
    assert "rack-d can hold 3 (short of 4 nvidia.com/gpu: 12 free, 16 needed)" in joined(output)
    assert "No placement exists (proved by complete search)" in joined(printed(output, "kubectl describe podgroup sweep"))
    assert "minCount of PodGroup research/sweep lowered from 4 to 3" in printed(output, "muster simulate cluster.json")


def test_a_job_is_placed_in_one_rack_with_nothing_but_the_label(ended):
    output = section(ended[1].stdout, 7)

    assert "GroupsCreated" in printed(output, next(each for each in re.findall(r"^\$ (.*)$", output, re.MULTILINE) if "events" in each))
    assert {"d1", "d2"} == set(re.findall(r"^ +finetune-\d-\w+ +(\w\d)$", output, re.MULTILINE))


def test_without_the_controller_of_jobs_this_part_is_left_out(programs, tmp_path):
    few = tmp_path / "few"
    few.mkdir()
    for name in ("etcd", "kube-apiserver", "kubectl"):
        (few / name).symlink_to(programs.folder / name)
    folder = tmp_path / "files"
    folder.mkdir()
    command = [sys.executable, "-m", "muster", "demo", "--cluster"]
    done = subprocess.run(command, env=environment(folder, few), capture_output=True, text=True, timeout=SECONDS, check=False)

    assert (0, "") == (done.returncode, done.stderr)
    assert "Left out: KUBEBUILDER_ASSETS has no kube-controller-manager" in joined(section(done.stdout, 7))


def test_the_documentation_shows_the_real_output(ended, programs):
    reason = behavior_of(programs.minor()).invalid_pod_group
    page = (ROOT / "docs" / "demo.md").read_text(encoding="utf-8")
    block = page.partition("<!-- demo-cluster:begin -->\n```\n")[2].partition("\n```\n<!-- demo-cluster:end -->")[0]
    parts = [part for part in re.split(r"^ *…$\n?|^$\n", block, flags=re.MULTILINE) if part.strip()]
    # The page has the reason of Kubernetes 1.37.
    output = steady(ended[1].stdout.replace(f"Reason:                {reason}\n", "Reason:                Invalid\n"))

    assert len(parts) > 5
    assert [] == [part for part in parts if steady(part).strip() not in output]


@pytest.mark.kubernetes("1.30")
def test_on_the_oldest_version_the_groups_are_custom_resources(programs, tmp_path):
    folder, done = run(programs, tmp_path)
    output = done.stdout

    assert (0, "") == (done.returncode, done.stderr)
    assert [] == list(folder.iterdir())
    assert "customresourcedefinition.apiextensions.k8s.io/podgroups.scheduling.muster.dev created" in section(output, 1)
    assert "[muster: parent-acyclic]" in joined(section(output, 2))
    assert 8 == len(re.findall(r"^ +stage-\d-\d +stage-\d +\w\d$", section(output, 3), re.MULTILINE))
    assert ["c1", "c2"] == sorted(re.findall(r"evaluation-\d +evaluation +(\w\d)$", section(output, 4), re.MULTILINE))
    assert "podgroup.scheduling.muster.dev/labelling condition met" in section(output, 5).partition("The fix")[2]
    assert "rack-d can hold 3 (short of 4 nvidia.com/gpu: 12 free, 16 needed)" in joined(section(output, 6))
    assert 3 == len(re.findall(r"^ +finetune-\d-\w+ +d\d$", section(output, 7), re.MULTILINE))


def test_sigterm_in_the_middle_leaves_nothing(programs, tmp_path):
    command = [sys.executable, "-u", "-m", "muster", "demo", "--cluster"]
    with subprocess.Popen(command, env=environment(tmp_path, programs.folder), stdout=subprocess.PIPE, text=True) as running:
        try:
            while "$ kubectl apply" not in (line := running.stdout.readline()):
                assert line, "it ended before its control plane was there"
            assert processes(tmp_path)
            running.send_signal(signal.SIGTERM)
            assert 128 + signal.SIGTERM == running.wait(SECONDS)
        finally:
            running.kill()
    assert [] == list(tmp_path.iterdir())
    assert [] == processes(tmp_path)


@pytest.mark.parametrize(("shipped", "ours"), rendered.COPIES.items())
def test_what_it_installs_is_what_deploy_has(shipped, ours):
    """A package cannot reach out of itself: it has copies."""
    assert (ROOT / "deploy" / shipped).read_text() == (DATA / "cluster" / ours).read_text()


def test_without_programs_it_is_one_clear_line():
    place = {name: value for name, value in os.environ.items() if name != "KUBEBUILDER_ASSETS"}
    command = [sys.executable, "-m", "muster", "demo", "--cluster"]
    done = subprocess.run(command, env=place, capture_output=True, text=True, timeout=SECONDS, check=False)

    assert (2, "", 1) == (done.returncode, done.stdout, done.stderr.count("\n"))
    assert done.stderr.startswith("muster demo: KUBEBUILDER_ASSETS must name a folder with etcd, kube-apiserver and kubectl")
