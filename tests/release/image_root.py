"""The root of an image, unpacked from its archive, in which programs run without a container: namespaces of mounts, and chroot.

Linux and util-linux are needed, and root, to run programs as the user of the image.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from release import image

SHARED = ("dev", "proc")
"""Of this machine."""
PROGRAMS = ("unshare", "setpriv", "chroot", "mount")


@dataclasses.dataclass
class Image:
    """An unpacked image and its configuration."""

    root: Path
    config: dict[str, Any]

    def run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a command in this root, which is read-only but for an empty /tmp, as the user of the image."""
        process = self.start(command)
        output, errors = process.communicate(timeout=120)
        return subprocess.CompletedProcess(command, process.returncode, output, errors)

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        """Start a command as ``run`` does."""
        return subprocess.Popen(
            ["unshare", "--mount", "sh", "-euc", self._script(command)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"HOME": "/tmp", **dict(each.split("=", 1) for each in self.config["Env"])},
        )

    def _script(self, command: list[str]) -> str:
        root = shlex.quote(str(self.root))
        user, _, group = self.config["User"].partition(":")
        switch = f"setpriv --reuid={user} --regid={group} --clear-groups --no-new-privs"
        mounts = [
            f"mount --bind {root} {root}",
            *(f"mount --rbind /{each} {root}/{each}" for each in SHARED),
            f"mount -t tmpfs -o mode=1777 tmpfs {root}/tmp",
            f"mount -o remount,ro,bind {root}",
        ]
        inner = f"cd {shlex.quote(self.config.get('WorkingDir') or '/')}; exec {switch} {shlex.join(command)}"
        return "; ".join((*mounts, f"exec chroot {root} sh -euc {shlex.quote(inner)}"))


def unpack(archive: Path, folder: Path) -> Image:
    # A root that only its owner may enter is of no use to the user of the image.
    folder.chmod(0o755)
    for layer in image.layers(archive):
        trust(layer)
        layer.extractall(folder)
    return Image(folder, configuration(archive)["config"])


def trust(packed: tarfile.TarFile) -> None:
    """Extract members of an archive of ours as they are.  Python 3.11.2 has no argument for it, and Python 3.12 warns without a choice."""
    packed.extraction_filter = lambda member, _: member


def configuration(archive: Path) -> dict[str, Any]:
    with tarfile.open(archive) as opened:
        (described,) = json.load(opened.extractfile("manifest.json"))
        return json.load(opened.extractfile(described["Config"]))


def missing() -> list[str]:
    """Return why programs cannot be run here."""
    if absent := [each for each in PROGRAMS if not shutil.which(each)]:
        return [f"an unpacked image needs {', '.join(absent)}"]
    allowed = os.geteuid() == 0 and not subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode
    return [] if allowed else ["an unpacked image needs root, and namespaces"]
