"""Archive of the image: deploy/Containerfile, built by buildah without a daemon on a base of Debian's packages.

The archive is an OCI image layout that also has the index of ``docker save``, so that podman, containerd and every docker load it.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from release import archives
from release.tree import RefusalError, run

SUITE = "bookworm"
PACKAGES = ("ca-certificates", "python-is-python3", "python3", "python3-venv")
BASE, IMAGE = "localhost/muster-base", "localhost/muster"
"""Names in the storage of a build."""
SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
"""Mirrors of this machine; they are used if they have SUITE."""
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/man/*")
TRACES = ("etc/apt/apt.conf.d/99mmdebstrap", "etc/hostname", "etc/resolv.conf")
"""Files that are copied from this machine."""
_BASE = "FROM scratch\nADD root.tar /\nENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"


def missing(base: str) -> list[str]:
    """Return what this machine lacks for the image."""
    wanted = ("buildah",) if base else ("buildah", "mmdebstrap")
    absent = [each for each in wanted if not shutil.which(each)]
    texts = [f"the image needs {' and '.join(absent)}: apt-get install {' '.join(absent)}"] if absent else []
    return texts + (["the image needs root: sudo make release"] if os.geteuid() else [])


def build_image(sources: Path, folder: Path, time: int, version: str, base: str, scratch: Path) -> Path:
    """Build the image of *sources*, and return its archive in *folder*.

    Args:
        sources: the context of the build.
        folder: where the archive is written.
        time: of all files in the image, in seconds since 1970.
        version: of Muster.
        base: image of a registry on which to build; without one it is made of Debian's packages.
        scratch: folder for the files of the build.

    """
    if not base:
        base = BASE
        _build_base(scratch, time)
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    archive = folder / f"muster-{version}-image-{architecture}.tar"
    name = f"muster:{version}"
    # pip trusts what this machine trusts: a proxy can have a CA of its own.
    trusted = ("--volume", f"{CERTIFICATES}:{CERTIFICATES}:ro") if CERTIFICATES.exists() else ()
    containerfile = str(sources / "deploy" / "Containerfile")
    _build(scratch, time, IMAGE, sources, *trusted, "--build-arg", f"BASE={base}", "--file", containerfile)
    _buildah(scratch, "push", IMAGE, f"oci-archive:{archive}:{name}")
    _let_docker_load(archive, time, name)
    return archive


def _build_base(scratch: Path, time: int) -> None:
    """Make the base image: Python, what it needs, and nothing of this machine."""
    context = scratch / "base"
    context.mkdir()
    options = [f"--dpkgopt=path-exclude={each}" for each in LEFT_OUT]
    # Without an update of the security fixes there is no image.
    options += ["--dpkgopt=path-include=/usr/share/doc/*/copyright", '--aptopt=APT::Update::Error-Mode "any"']
    hook = '--customize-hook=cd "$1" && rm -f ' + " ".join(TRACES)
    mirrors = [str(SOURCES)] if SOURCES.exists() and SUITE in SOURCES.read_text(encoding="utf-8") else []
    given = ("--quiet", "--variant=essential", f"--include={','.join(PACKAGES)}", *options, hook)
    run("mmdebstrap", *given, SUITE, str(context / "root.tar"), *mirrors, SOURCE_DATE_EPOCH=str(time))
    (context / "Containerfile").write_text(_BASE, encoding="utf-8")
    _build(scratch, time, BASE, context)
    (context / "root.tar").unlink()


def _build(scratch: Path, time: int, name: str, context: Path, *options: str) -> None:
    # The history would have digests of folders with the times of their files.  It is that of deploy/Containerfile anyway.
    options = ("--isolation", "chroot", "--timestamp", str(time), "--omit-history", *options, "--tag", name)
    _buildah(scratch, "build", *options, str(context))


def _buildah(scratch: Path, *arguments: str) -> None:
    """Run buildah with a storage of its own."""
    run("buildah", "--storage-driver", "vfs", "--root", str(scratch / "storage"), "--runroot", str(scratch / "run"), *arguments)


def _let_docker_load(archive: Path, time: int, name: str) -> None:
    """Add the index of ``docker save``, and the name by which containerd knows the image."""
    with tarfile.open(archive) as opened:
        index = _json(opened, "index.json")
        (described,) = index["manifests"]
        described["annotations"]["io.containerd.image.name"] = f"docker.io/library/{name}"
        manifest = _json(opened, _blob(described))
    layers = [_blob(each) for each in manifest["layers"]]
    docker = [{"Config": _blob(manifest["config"]), "RepoTags": [name], "Layers": layers}]
    more = {"index.json": index, "manifest.json": docker}
    archives.rewrite(archive, time, {path: json.dumps(content).encode() for path, content in more.items()})


def _blob(described: Mapping[str, str]) -> str:
    return f"blobs/{described['digest'].replace(':', '/')}"


def _json(opened: tarfile.TarFile, name: str) -> Any:
    if (file := opened.extractfile(name)) is None:
        raise RefusalError(f"buildah wrote no file {name}")
    return json.load(file)


def layers(archive: Path) -> Iterator[tarfile.TarFile]:
    """Open the layers of an image one after the other, the lowest first."""
    with tarfile.open(archive) as opened:
        for each in _json(opened, "manifest.json")[0]["Layers"]:
            with tarfile.open(fileobj=opened.extractfile(each), mode="r|gz") as layer:
                yield layer
