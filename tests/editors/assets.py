"""code-server, which is Visual Studio Code in a browser, and the packaged extension; built once into a cache.

``python -m tests.editors.assets`` builds what is missing; it needs Node 20 with npm, and no installed package.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
VERSION = "4.96.4"
"""The last code-server for Node 20."""
NODE = 20
NATIVE = ("@vscode/spdlog", "native-watchdog", "node-pty", "@parcel/watcher")
"""Modules of the server that are compiled."""
BUILT_WITH = "make editor-assets"


class MissingError(Exception):
    """The editor cannot be started here; the message is one line that says what to do."""


def server() -> Path:
    """Return the program of code-server for Node.  Raises MissingError."""
    _check_node()
    program = _server() / "node_modules" / "code-server" / "out" / "node" / "entry.js"
    if not program.is_file():
        raise MissingError(f"code-server {VERSION} is not there: {BUILT_WITH} installs it")
    return program


def package() -> Path:
    """Return the packaged extension.  Raises MissingError."""
    if not _package().is_file():
        raise MissingError(f"the extension is not packaged: {BUILT_WITH} does it")
    return _package()


def _check_node() -> None:
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        raise MissingError(f"code-server {VERSION} needs Node {NODE} with npm")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout
    if not re.match(rf"v{NODE}\.", version):
        raise MissingError(f"code-server {VERSION} needs Node {NODE}, this is {version.strip()}")


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "muster" / "editor-assets"


def _server() -> Path:
    return _cache() / f"code-server-{VERSION}"


def _package() -> Path:
    content = b"".join(path.read_bytes() for path in _sources())
    return _cache() / f"muster-{hashlib.sha256(content).hexdigest()[:12]}.vsix"


def _sources() -> list[Path]:
    return sorted(path for path in EXTENSION.iterdir() if path.is_file() and path.suffix != ".vsix")


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=600, env=_environment())


def _environment() -> dict[str, str]:
    # The headers of Node are beside its program; else the compiler's driver downloads them.
    node = Path(shutil.which("node") or "").resolve().parents[1]
    headers = {"npm_config_nodedir": str(node)} if (node / "include" / "node" / "node.h").is_file() else {}
    return os.environ | headers | {"npm_config_audit": "false", "npm_config_fund": "false", "npm_config_loglevel": "error"}


def install_server() -> None:
    """Install code-server without the programs that its scripts download from places other than the package registry."""
    with tempfile.TemporaryDirectory(dir=_cache()) as made:
        folder = Path(made) / "server"
        folder.mkdir()
        _run(folder, "npm", "install", "--ignore-scripts", f"code-server@{VERSION}")
        _run(folder, "npm", "rebuild", "argon2")
        code = folder / "node_modules" / "code-server" / "lib" / "vscode"
        _take_from_registry(code / "npm-shrinkwrap.json", "node_modules/@vscode/proxy-agent")
        _run(code, "npm", "install", "--ignore-scripts", "--omit=dev")
        _run(code, "npm", "rebuild", *NATIVE)
        (code / "node_modules.asar").symlink_to("node_modules")
        folder.rename(_server())


def _take_from_registry(lock: Path, name: str) -> None:
    """Change a lock file so that one package is that of the registry, not of a repository."""
    content = json.loads(lock.read_text(encoding="utf-8"))
    for key in ("resolved", "integrity"):
        content["packages"][name].pop(key, None)
    lock.write_text(json.dumps(content), encoding="utf-8")


def install_package() -> None:
    """Package the extension as its README says."""
    with tempfile.TemporaryDirectory(dir=_cache()) as made:
        folder = Path(made)
        for path in _sources():
            shutil.copy(path, folder)
        _run(folder, "npm", "ci")
        _run(folder, "npm", "run", "package")
        (folder / "muster.vsix").rename(_package())


def main(_: Sequence[str]) -> int:
    """Build what is missing."""
    try:
        _check_node()
        _cache().mkdir(parents=True, exist_ok=True)
        if not _server().is_dir():
            install_server()
        if not _package().is_file():
            install_package()
    except (MissingError, subprocess.SubprocessError, OSError) as error:
        print(f"editor-assets: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
