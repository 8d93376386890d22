"""The list of components of an image (SBOM, CycloneDX): what its archive has, not what was meant to be in it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from release import image
from release.tree import run

_METADATA = re.compile(r"(?:\./)?(opt/muster/lib/[^/]+/site-packages)/[^/]+\.dist-info/(?:METADATA|WHEEL)")
"""``direct_url.json`` is left out: it has the folder in which Muster was built."""
_PYTHON = "#!/bin/sh\ncat <<'PATHS'\n{paths}\nPATHS\n"
"""Stands in for the Python of the image: cyclonedx-py asks it for the folders of its packages."""


def write_contents(archive: Path, sources: Path, target: Path, time: int, scratch: Path) -> None:
    """Write the list of all Python distributions in the image *archive* to *target*.

    Args:
        archive: of the image.
        sources: has ``pyproject.toml``, which describes the component that needs the others.
        target: the list, in JSON.
        time: of the list, in seconds since 1970.
        scratch: folder for the metadata of the distributions.

    """
    folders = set()
    for layer in image.layers(archive):
        for member in layer:
            if (found := _METADATA.fullmatch(member.name)) and (content := layer.extractfile(member)):
                path = scratch / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())
                folders.add(str(scratch / found[1]))
    python = scratch / "python"
    python.write_text(_PYTHON.format(paths=json.dumps(sorted(folders))), encoding="utf-8")
    python.chmod(0o755)
    options = ("--pyproject", str(sources / "pyproject.toml"), "--output-reproducible", "--output-file", str(target), str(python))
    run(sys.executable, "-m", "cyclonedx_py", "environment", *options, SOURCE_DATE_EPOCH=str(time))
