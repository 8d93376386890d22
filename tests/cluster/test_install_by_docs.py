"""The installation with Helm, by the commands of the pages: from a cluster without Muster to a refusal, and back after an emergency."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.cluster import go_tools
from tests.cluster.conftest import available
from tests.cluster.control_plane import ControlPlane
from tests.cluster.deployed import ROUTING, Deployed, node_address
from tests.cluster.options import Options
from tests.docs import pages

PAGE, EMERGENCY = (pages.DOCS / "operate" / f"{name}.md" for name in ("helm", "emergency"))
NAMESPACE, NAME = "muster-system", "muster-webhook"


def section(name, page=PAGE):
    """Return the fenced blocks of a section of a page."""
    text = page.read_text(encoding="utf-8").partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    return pages.blocks(text)


@pytest.fixture
def plane(programs):
    if not node_address():
        pytest.skip("this machine has no address but the loopback")
    with ControlPlane(Options(apiserver_flags=(ROUTING,)), programs) as started:
        yield started


@pytest.fixture
def shell(plane, tmp_path):
    """Return a function that runs a line in a checkout, with the programs of the page; there is no container engine."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, path in (("helm", available(lambda: go_tools.find("helm"))), ("kubectl", plane.programs.path("kubectl"))):
        (programs / name).symlink_to(path)
    (programs / "podman").write_text('#!/bin/sh\ntest "$1" != build || test -f "$3"\n')
    (programs / "podman").chmod(0o755)
    environ = {"PATH": f"{programs}:{os.environ['PATH']}", "KUBECONFIG": str(plane.kubeconfig), "HOME": str(tmp_path)}

    def run(line, folder=pages.ROOT):
        return subprocess.run(["bash", "-euc", line], cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=300)

    return run


def test_the_page_leads_from_nothing_to_a_refusal(plane, shell, tmp_path):
    install, bad, apply, refusal = section("Install")[:4]
    (tmp_path / bad.title).write_text(bad.text, encoding="utf-8")
    with Deployed(plane, NAME, NAMESPACE, tmp_path):
        done = shell(install.text)
        assert 0 == done.returncode, done.stderr
        refused = shell(apply.text, tmp_path)
        assert (1, refusal.text) == (refused.returncode, refused.stderr)
        _, ignore, _, restore = section("Groups cannot be created", EMERGENCY)[:4]
        (helm,) = (line for line in restore.text.splitlines() if line.startswith("helm "))
        for commands, policies in ((ignore.text, {"Ignore"}), (helm, {"Fail", "Ignore"})):
            done = shell(commands)
            assert 0 == done.returncode, done.stderr
            assert policies == {each["failurePolicy"] for each in plane.api.get("ValidatingWebhookConfiguration", "muster")["webhooks"]}
