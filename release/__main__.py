"""Build the files of a release into ``dist/``, all of them or some parts."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from release import audit, contents, image, packages, tree
from release.tree import RefusalError
from tests.cluster.programs import MissingError

ROOT = Path(__file__).parent.parent
PARTS = ("audit", "packages", "chart", "image")
CHECKSUMS = "SHA256SUMS"
REFUSED = 2


def main() -> int:
    """Build what the command line asks for; 2 if that is refused, with the reasons on standard error."""
    # Modes of files are part of the bytes.
    os.umask(0o022)
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("--base", default="", help="base image of a registry, with its digest; by default it is made of Debian's packages")
    parser.add_argument(
        "--accept-advisory",
        action="append",
        default=[],
        metavar="ID",
        help="advisory that does not concern Muster, by id or alias (repeatable)",
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; by default all")
    given = parser.parse_args()
    if unknown := {*given.parts} - {*PARTS}:
        parser.error(f"{', '.join(sorted(unknown))}: a part is one of {', '.join(PARTS)}")
    parts = given.parts or PARTS
    try:
        reasons = [*tree.problems(ROOT), *(image.missing(given.base) if "image" in parts else [])]
        if not reasons and "audit" in parts:
            reasons += audit.problems(ROOT, given.accept_advisory)
        if not reasons and {*parts} - {"audit"}:
            build(ROOT / "dist", parts, given.base)
    except (MissingError, RefusalError) as error:
        reasons = [str(error)]
    for each in reasons:
        print(f"release: {each}", file=sys.stderr)
    return REFUSED if reasons else 0


def build(target: Path, parts: tuple[str, ...], base: str) -> None:
    """Build *parts* in a folder of their own, and put them in the place of *target* when all are complete."""
    version, time = tree.version(ROOT), tree.commit_time(ROOT)
    with tempfile.TemporaryDirectory(prefix="muster-release-") as name:
        scratch = Path(name)
        sources, folder = scratch / "sources", scratch / "dist"
        tree.export(ROOT, sources)
        folder.mkdir()
        if "packages" in parts:
            packages.build_packages(sources, folder, time)
        if "chart" in parts:
            packages.build_chart(sources, folder, time, version)
        if "image" in parts:
            archive = image.build_image(sources, folder, time, version, base, scratch)
            contents.write_contents(archive, sources, folder / f"muster-{version}-sbom.cdx.json", time, scratch)
        files = sorted(folder.iterdir())
        sums = [f"{_digest(each)}  {each.name}\n" for each in files]
        (folder / CHECKSUMS).write_text("".join(sums), encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target)
    for each in sorted(target.iterdir()):
        print(each.relative_to(ROOT))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    sys.exit(main())
