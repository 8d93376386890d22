"""The image: what its Containerfile declares, and its steps and its programs, run in a scratch root."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import signal

import pytest
import yaml

from tests.installation import containerfile
from tests.installation.environments import FILES, PACKAGES, ROOT
from tests.sampling import SOAK

PATH = ROOT / "deploy" / "Containerfile"
LARGEST = 400 << 20
"""Bytes of the image beyond its base."""
DEPLOYMENTS = ("base/deployment.yaml", "sidecar/deployment.yaml")


def values(instruction):
    return [value for name, value in containerfile.instructions(PATH) if name == instruction]


def pod_of(path):
    (found,) = (each for each in yaml.safe_load_all((ROOT / "deploy" / path).read_text()) if each["kind"] == "Deployment")
    return found["spec"]["template"]["spec"]


def test_the_build_gets_what_it_copies_and_nothing_else():
    copied = {each for value in values("COPY") if "--from" not in value for each in value.split()[:-1]}
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}

    assert copied == kept == {*PACKAGES, *FILES, "requirements-ci.txt"}


def test_versions_are_those_of_the_lock():
    (install,) = (each for each in values("RUN") if "pip install" in each)
    tools, project, _ = install.split(" && ")

    assert "--constraint requirements-ci.txt setuptools" in tools
    assert {"--no-build-isolation", "--only-binary"} < {*project.split()}
    assert "--constraint requirements-ci.txt '.[webhooks,sidecar,simulate]'" in project
    assert all("==" in line for line in (ROOT / "requirements-ci.txt").read_text().splitlines() if line and not line.startswith("#"))


def test_the_base_of_all_stages_is_an_argument():
    (base,) = values("ARG")

    assert re.fullmatch(r"BASE=\S+:\S+", base)
    assert {"${BASE}"} == {each.partition(" AS ")[0] for each in values("FROM")}


@pytest.mark.parametrize("path", DEPLOYMENTS)
def test_the_user_is_that_of_the_deployments_and_is_not_root(path):
    (user,) = values("USER")
    security = pod_of(path)["securityContext"]

    assert f"{security['runAsUser']}:{security['runAsGroup']}" == user
    assert (True, True) == (security["runAsNonRoot"], security["runAsUser"] > 0)


@pytest.mark.parametrize("path", DEPLOYMENTS)
def test_ports_of_the_deployments_are_declared(path):
    (container,) = pod_of(path)["containers"]
    (ports,) = values("EXPOSE")

    assert {str(each["containerPort"]) for each in container["ports"]} <= set(ports.split())


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    if not os.environ.get(SOAK):
        pytest.skip(f"downloads every library anew; {SOAK} asks for it")
    if not containerfile.available():
        pytest.skip("a scratch root needs root, unshare and setpriv")
    settings = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.lower().endswith("_proxy")}
    return containerfile.build(PATH, ROOT, tmp_path_factory.mktemp("image"), **settings)


def test_the_image_is_small_and_has_no_installer(image):
    names = [path.name for path in (image.root / "opt" / "muster").rglob("*")]

    assert image.size() < LARGEST
    assert not fnmatch.filter(names, "pip-*")
    assert [] == [path for path in image.root.rglob("*") if path.name in ("tests", "deploy") and path.parent == image.root / "src"]


LISTED = "import importlib.metadata as m; print(*sorted(f'{each.name}=={each.version}' for each in m.distributions()), sep='\\n')"


def test_every_package_is_in_the_lock_at_its_version(image):
    """As pip freeze would list them; the image has no pip."""
    done = image.run(["python", "-c", LISTED])
    installed = {_normal(each) for each in done.stdout.split()}
    lock = {*(ROOT / "requirements-ci.txt").read_text().split("\n")}

    assert {"muster-scheduling"} == {each.partition("==")[0] for each in installed - lock}
    assert not [each for each in installed if each.startswith(("pygls", "setuptools", "pip=="))]


def _normal(requirement):
    """Return NAME==VERSION with the name as the lock writes it."""
    name, _, version = requirement.partition("==")
    return f"{re.sub('[-_.]+', '-', name).lower()}=={version}"


def test_every_command_has_its_help_as_another_user_on_a_read_only_root(image):
    done = image.run([*image.entrypoint, *image.command], read_only=True)
    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith("Usage: muster serve ")

    written = image.run(["sh", "-c", "id -u; touch /opt/muster/new"], read_only=True)
    assert image.user.partition(":")[0] == written.stdout.strip()
    assert "Read-only file system" in written.stderr


def test_the_server_answers_as_the_deployment_starts_it(image):
    (container,) = pod_of(DEPLOYMENTS[0])["containers"]
    here = {"--bind": "127.0.0.1:0", "--probe-bind": "127.0.0.1:0", "--tls-cert": "/tmp/tls.crt", "--tls-key": "/tmp/tls.key"}
    given = [f"{name}={here[name]}" if (name := each.partition("=")[0]) in here else each for each in container["args"]]
    given = [each for each in given if each != "--cluster"]
    command = f"muster certs issue --out /tmp --name 127.0.0.1 --force >/dev/null && exec {' '.join([*image.entrypoint, *given])}"
    with image.start(["sh", "-euc", command], read_only=True) as process:
        events = []
        for line in process.stdout:
            events.append(json.loads(line)["event"])
            if events[-1] == "listening":
                process.send_signal(signal.SIGTERM)
        assert 0 == process.wait(60), process.stderr.read()
    assert "listening" in events
