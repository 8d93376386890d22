"""Programs written in Go that judge and apply our files, or create pods, each built once from its module; and the CRDs of other projects.

A tool is a folder of ``tests/cluster/assets`` with a ``go.mod`` that names it as ``tool``, a ``go.sum`` with the checksums of all that it is
built of, and its own sources if it is ours, as ``kueue``.  ``python -m tests.cluster.go_tools`` builds all of them, if Go is installed; it needs no installed package.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.cluster import programs

NAMES = ("helm", "jobset", "kubeconform", "kuberay", "kueue", "kueue_manager", "kustomize", "lws", "mpi", "trainer", "training")
_WEBHOOKS = "webhook/manifests.yaml"
SMALL = ("-ldflags", "-s -w")
_OF_KUEUE = (
    *(
        "admissionchecks",
        "clusterqueues",
        "cohorts",
        "localqueues",
        "resourceflavors",
        "topologies",
        "workloadpriorityclasses",
        "workloads",
    ),
)
CRDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "github.com/cert-manager/cert-manager": (
        "",
        ("deploy/crds/cert-manager.io_certificates.yaml", "deploy/crds/cert-manager.io_issuers.yaml"),
    ),
    "github.com/kubeflow/mpi-operator": ("mpi", ("manifests/base/kubeflow.org_mpijobs.yaml",)),
    "github.com/kubeflow/trainer/v2": (
        "trainer",
        (
            "manifests/base/crds/trainer.kubeflow.org_clustertrainingruntimes.yaml",
            "manifests/base/crds/trainer.kubeflow.org_trainingruntimes.yaml",
            "manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml",
            f"manifests/base/{_WEBHOOKS}",
        ),
    ),
    "github.com/kubeflow/training-operator": (
        "training",
        tuple(f"manifests/base/crds/kubeflow.org_{kind}s.yaml" for kind in ("jaxjob", "paddlejob", "pytorchjob", "tfjob", "xgboostjob")),
    ),
    "github.com/prometheus-operator/prometheus-operator": (
        "",
        (
            "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
            "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
            "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
        ),
    ),
    "github.com/ray-project/kuberay/ray-operator": (
        "kuberay",
        ("config/crd/bases/ray.io_rayclusters.yaml", "config/crd/bases/ray.io_rayjobs.yaml", "config/crd/bases/ray.io_rayservices.yaml"),
    ),
    "sigs.k8s.io/jobset": ("jobset", ("config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml", f"config/components/{_WEBHOOKS}")),
    "sigs.k8s.io/kueue": (
        "kueue_manager",
        (
            *(f"config/components/crd/bases/kueue.x-k8s.io_{plural}.yaml" for plural in _OF_KUEUE),
            f"config/components/{_WEBHOOKS}",
        ),
    ),
    "sigs.k8s.io/lws": (
        "lws",
        (
            "config/crd/bases/disaggregatedset.x-k8s.io_disaggregatedsets.yaml",
            "config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml",
            f"config/{_WEBHOOKS}",
        ),
    ),
}
"""CustomResourceDefinitions of the kinds of which our manifests, or tests, have objects, and webhooks of their controllers, by module.

Those of a controller that is built here are in a folder of its name.
"""


def find(name: str) -> Path:
    """Return the tool *name*, built before.

    Raises:
        MissingError: it was not built.
    """
    if (tool := _target(name)).exists():
        return tool
    raise programs.MissingError(f"`make cluster-assets` builds {name} (it needs Go)")


def build(name: str) -> Path:
    """Build the tool *name* into the cache unless it exists; return its path.

    Raises:
        MissingError: Go is not installed, or the build failed.
    """
    target = _target(name)
    if not target.exists():
        programs.build_once(target, lambda created: programs.go_build(_package(name), created, *SMALL, module=_module(name)))
    return target


def find_crds() -> Path:
    """Return the folder with the files of CRDS, copied before.

    Raises:
        MissingError: they were not copied.

    """
    if (folder := _target("crds")).exists():
        return folder
    raise programs.MissingError("`make cluster-assets` downloads the CRDs of other projects (it needs Go)")


def build_crds() -> Path:
    """Copy the files of CRDS from their modules into the cache unless they exist; return the folder.

    Raises:
        MissingError: Go is not installed, or the modules cannot be downloaded.

    """
    target = _target("crds")
    if not target.exists():
        programs.build_once(target, _copy_crds)
    return target


def _copy_crds(folder: Path) -> None:
    folder.mkdir()
    command = ["go", "mod", "download", "-json", *CRDS]
    done = subprocess.run(command, cwd=_module("crds"), env={**os.environ, "GOFLAGS": ""}, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise programs.MissingError(f"go mod download in {_module('crds')} failed with exit status {done.returncode}")
    for module in _documents(done.stdout):
        subfolder, names = CRDS[module["Path"]]
        (folder / subfolder).mkdir(exist_ok=True)
        for name in names:
            shutil.copyfile(Path(module["Dir"]) / name, folder / subfolder / Path(name).name)


def _documents(text: str) -> Iterator[dict[str, str]]:
    """Yield the JSON documents of *text*, which follow each other."""
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip():
        document, at = decoder.raw_decode(text, len(text) - len(text[at:].lstrip()))
        yield document


def _module(name: str) -> Path:
    return programs.MODULE / name


def _package(name: str) -> str:
    result = re.search(r"^tool (\S+)$", (_module(name) / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    if not result:
        raise programs.MissingError(f"{_module(name) / 'go.mod'} must name a tool")
    return result[1]


def _target(name: str) -> Path:
    module = _module(name)
    content = b"".join(path.read_bytes() for path in (module / "go.mod", module / "go.sum", *sorted(module.glob("*.go"))))
    if name == "crds":
        content += repr(CRDS).encode()
    return programs.cached().parent / f"{name}-{hashlib.sha256(content).hexdigest()[:12]}"


def main() -> int:
    """Build all tools and copy the CRDs, if Go is installed; 2 if that fails."""
    try:
        if shutil.which("go"):
            for name in NAMES:
                build(name)
            build_crds()
    except programs.MissingError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
