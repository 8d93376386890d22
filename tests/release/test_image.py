"""The image: what its Containerfile declares, and what the archive of a release has, whose programs run in its unpacked root."""

from __future__ import annotations

import fnmatch
import io
import json
import re
import shlex
import signal
import subprocess
import tarfile
from datetime import UTC, datetime

import pytest
import yaml
from dockerfile_parse import DockerfileParser

from release import tree
from tests.installation.environments import FILES, PACKAGES, ROOT
from tests.release import image_root
from tests.sampling import every

PATH = ROOT / "deploy" / "Containerfile"
LARGEST = 250 << 20
"""Bytes of Muster and its libraries."""
HASHED_UNCHECKED = 1
"""Flags of a compiled module that is used without a look at its source."""
DEPLOYMENTS = ("base/deployment.yaml", "sidecar/deployment.yaml")


def values(instruction):
    # The parser writes what it is given to the file that it is given.
    parser = DockerfileParser(fileobj=io.BytesIO(PATH.read_bytes()))
    return [each["value"] for each in parser.structure if each["instruction"] == instruction]


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


def test_what_the_containerfile_declares_is_in_the_archive(unpacked):
    config = unpacked.config
    (user,), (ports,), (entrypoint,), (command,) = (values(each) for each in ("USER", "EXPOSE", "ENTRYPOINT", "CMD"))

    assert (config["User"], config["Entrypoint"], config["Cmd"]) == (user, json.loads(entrypoint), json.loads(command))
    assert {*config["ExposedPorts"]} == {f"{each}/tcp" for each in ports.split()}


def test_docker_podman_and_containerd_find_the_image_by_its_name(with_image):
    """docker reads manifest.json, others the index of the OCI layout; both have the same blobs, which have the digests of their names."""
    archive = with_image.file("*-image-*.tar")
    with tarfile.open(archive) as opened:
        names = opened.getnames()
        read = {each: json.load(opened.extractfile(each)) for each in ("index.json", "manifest.json", "oci-layout")}
        (described,) = read["index.json"]["manifests"]
        manifest = json.load(opened.extractfile(f"blobs/sha256/{described['digest'].removeprefix('sha256:')}"))
    (docker,) = read["manifest.json"]
    name = f"muster:{tree.version(ROOT)}"

    assert {"io.containerd.image.name": f"docker.io/library/{name}", "org.opencontainers.image.ref.name": name} == described["annotations"]
    assert docker["RepoTags"] == [name]
    blobs = [f"blobs/sha256/{each['digest'].removeprefix('sha256:')}" for each in (manifest["config"], *manifest["layers"])]
    assert blobs == [docker["Config"], *docker["Layers"]]
    assert {*blobs} < {*names}
    assert {each["mediaType"] for each in manifest["layers"]} == {"application/vnd.oci.image.layer.v1.tar+gzip"}


@pytest.mark.parametrize("transport", every(2, ["docker-archive", "oci-archive"]))
def test_the_archive_is_loaded(transport, with_image, tmp_path):
    archive = with_image.file("*-image-*.tar")
    storage = ("--storage-driver", "vfs", "--root", tmp_path / "root", "--runroot", tmp_path / "run")
    pulled = subprocess.run(["buildah", *storage, "pull", "--quiet", f"{transport}:{archive}"], capture_output=True, text=True, check=False)
    assert pulled.returncode == 0, pulled.stderr
    with tarfile.open(archive) as opened:
        config = json.load(opened.extractfile("manifest.json"))[0]["Config"]

    assert pulled.stdout.strip() == config.removeprefix("blobs/sha256/")


def test_all_files_have_the_time_of_the_commit_and_none_is_of_this_machine(with_image, unpacked):
    time = tree.commit_time(with_image.clone)
    ours = [path for path in (unpacked.root / "opt").rglob("*") if not path.is_symlink()]

    assert {int(path.lstat().st_mtime) for path in ours} == {time}
    assert image_root.configuration(with_image.file("*-image-*.tar"))["created"] == f"{datetime.fromtimestamp(time, UTC):%FT%TZ}"
    assert not (unpacked.root / "src").exists()
    # Places for what a runtime mounts there.
    assert [(unpacked.root / "etc" / each).read_text() for each in ("hostname", "hosts", "resolv.conf")] == ["", "", ""]


def test_the_image_is_small_and_has_no_installer(unpacked):
    paths = [*(unpacked.root / "opt" / "muster").rglob("*")]

    assert sum(path.lstat().st_size for path in paths) < LARGEST
    assert not fnmatch.filter((path.name for path in paths), "pip-*")


def test_every_module_is_compiled_and_used_as_it_is(unpacked):
    (site,) = (unpacked.root / "opt" / "muster" / "lib").glob("python*/site-packages")
    (tag,) = {each.name.split(".")[-2] for each in (site / "muster" / "__pycache__").iterdir()}
    compiled = [path.parent / "__pycache__" / f"{path.stem}.{tag}.pyc" for path in (site / "muster").rglob("*.py")]

    assert compiled
    assert {int.from_bytes(path.read_bytes()[4:8], "little") for path in compiled} == {HASHED_UNCHECKED}


LISTED = "import importlib.metadata as m; print(*sorted(f'{each.name}=={each.version}' for each in m.distributions()), sep='\\n')"


def test_every_package_is_in_the_lock_at_its_version(unpacked):
    """As pip freeze would list them; the image has no pip."""
    done = unpacked.run(["/opt/muster/bin/python", "-c", LISTED])
    installed = {_normal(each) for each in done.stdout.split()}
    lock = {*(ROOT / "requirements-ci.txt").read_text().split("\n")}

    assert {"muster-scheduling"} == {each.partition("==")[0] for each in installed - lock}, done.stderr
    assert not [each for each in installed if each.startswith(("pygls", "setuptools", "pip=="))]


def _normal(requirement):
    """Return NAME==VERSION with the name as the lock writes it."""
    name, _, version = requirement.partition("==")
    return f"{re.sub('[-_.]+', '-', name).lower()}=={version}"


def test_every_command_has_its_help_as_another_user_on_a_read_only_root(unpacked):
    done = unpacked.run([*unpacked.config["Entrypoint"], *unpacked.config["Cmd"]])
    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith("Usage: muster serve ")

    written = unpacked.run(["sh", "-c", "id -u; touch /opt/muster/new"])
    assert unpacked.config["User"].partition(":")[0] == written.stdout.strip()
    assert "Read-only file system" in written.stderr


def test_its_commands_work(unpacked):
    version = unpacked.run(["muster", "--version"])
    assert (version.returncode, version.stdout.split()[-1]) == (0, tree.version(ROOT)), version.stderr

    group = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: a}\nspec: {schedulingPolicy: {gang: {minCount: 0}}}\n"
    found = unpacked.run(["sh", "-c", f"echo {shlex.quote(group)} | muster lint -"])
    assert (found.returncode, "error gang-minimum" in found.stdout) == (1, True), found.stdout + found.stderr


def test_the_server_answers_as_the_deployment_starts_it(unpacked):
    (container,) = pod_of(DEPLOYMENTS[0])["containers"]
    here = {"--bind": "127.0.0.1:0", "--probe-bind": "127.0.0.1:0", "--tls-cert": "/tmp/tls.crt", "--tls-key": "/tmp/tls.key"}
    given = [f"{name}={here[name]}" if (name := each.partition("=")[0]) in here else each for each in container["args"]]
    given = [each for each in given if each != "--cluster"]
    command = (
        f"muster certs issue --out /tmp --name 127.0.0.1 --force >/dev/null && exec {' '.join([*unpacked.config['Entrypoint'], *given])}"
    )
    with unpacked.start(["sh", "-euc", command]) as process:
        events = []
        for line in process.stdout:
            events.append(json.loads(line)["event"])
            if events[-1] == "listening":
                process.send_signal(signal.SIGTERM)
        assert 0 == process.wait(60), process.stderr.read()
    assert "listening" in events
