"""Source distribution and wheel, the archive of the Helm chart, and the definitions of custom resources."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from release import archives
from release.tree import run
from tests.cluster import go_tools


def build_packages(sources: Path, folder: Path, time: int) -> None:
    """Build the source distribution, and the wheel of what is in it.

    The build backend is the setuptools of this environment, whose version is in the lock: in an environment of its own, ``build`` would
    install the newest one.
    """
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(sources), SOURCE_DATE_EPOCH=str(time))
    (packed,) = folder.glob("*.tar.gz")
    archives.rewrite(packed, time)


def build_chart(sources: Path, folder: Path, time: int, version: str) -> None:
    """Pack the chart, and write the custom resources of kustomize into one file.  Raises MissingError if helm cannot be built."""
    run(str(go_tools.build("helm")), "package", str(sources / "deploy" / "chart"), "--destination", str(folder))
    (packed,) = folder.glob("muster-*.tgz")
    archives.rewrite(packed, time)
    manifests = sources / "deploy" / "custom-resources"
    names = yaml.safe_load((manifests / "kustomization.yaml").read_text(encoding="utf-8"))["resources"]
    texts = ((manifests / each).read_text(encoding="utf-8") for each in names)
    (folder / f"muster-{version}-custom-resources.yaml").write_text("---\n".join(texts), encoding="utf-8")
