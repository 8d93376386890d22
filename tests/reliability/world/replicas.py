"""Sidecars of a world: each has a proxy, a clock and, where this user may create it, a network namespace of its own."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.control_plane import ControlPlane
from tests.cluster.faults import Faults, faults
from tests.cluster.process import Process

CLOCK = Path(__file__).parents[2] / "cluster/clock"
DIRECTIONS = {"answers": "INPUT", "requests": "OUTPUT"}
"""Chains of iptables by what they drop, seen from the replica."""
NAME = re.compile(r"mw(\d+)n\d+")
"""Name of a network: with the process that created it."""


class Network:
    """Network namespace that reaches this one by a pair of interfaces; ``here`` is the address of this end.

    Raises CalledProcessError if this user or the kernel cannot create it.
    """

    def __init__(self, number: int) -> None:
        self.name = f"mw{os.getpid()}n{number}"
        # A subnet that another process is unlikely to have.
        second, third = 100 + os.getpid() // 250 % 150, os.getpid() % 250
        self.here, there = (f"10.{second}.{third}.{4 * number + end}" for end in (1, 2))
        _ip("netns", "add", self.name)
        try:
            _ip("link", "add", f"{self.name}a", "type", "veth", "peer", "name", f"{self.name}b", "netns", self.name)
            _ip("addr", "add", f"{self.here}/30", "dev", f"{self.name}a")
            _ip("link", "set", f"{self.name}a", "up")
            _ip("-n", self.name, "addr", "add", f"{there}/30", "dev", f"{self.name}b")
            _ip("-n", self.name, "link", "set", f"{self.name}b", "up")
            _ip("-n", self.name, "link", "set", "lo", "up")
            self.mend()
        except subprocess.CalledProcessError:
            self.remove()
            raise

    @property
    def command(self) -> list[str]:
        """Return the beginning of a command that runs inside."""
        return [shutil.which("ip") or "ip", "netns", "exec", self.name]

    def drop(self, *what: str) -> None:
        """Drop all packets of these DIRECTIONS; connections stay open."""
        for each in what:
            _run(*self.command, "iptables", "-A", DIRECTIONS[each], "-j", "DROP")

    def mend(self) -> None:
        """Drop no packet any more."""
        _run(*self.command, "iptables", "-F")

    def remove(self) -> None:
        """Remove it with its interfaces."""
        _ip("netns", "del", self.name)


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except FileNotFoundError as error:
        raise subprocess.CalledProcessError(127, command) from error


def _remove_old() -> None:
    """Remove the networks of processes that were killed."""
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        for each in Path("/run/netns").iterdir():
            if (match := NAME.fullmatch(each.name)) and not Path("/proc", match[1]).exists():
                _ip("netns", "del", each.name)


@contextlib.contextmanager
def network(number: int) -> Iterator[Network | None]:
    """Yield a network, None where it cannot be created."""
    _remove_old()
    try:
        created = Network(number)
    except subprocess.CalledProcessError:
        yield None
        return
    try:
        yield created
    finally:
        created.remove()


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[bool]:
    """Mount a file system of *size* at *folder*; yield whether this user can."""
    folder.mkdir()
    mounted = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "muster-world", str(folder)], check=False, capture_output=True
        ).returncode
    )
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=False, capture_output=True)


class Sidecar:
    """One replica."""

    def __init__(self, name: str, plane: ControlPlane, proxy: Faults, net: Network | None, folder: Path, account: Path) -> None:
        self.name, self.proxy, self.network = name, proxy, net
        self.process = Process(name, folder / f"{name}.log")
        plane.companions.append(self.process)
        self._clock = plane.folder / f"{name}.clock"
        self._kubeconfig = proxy.kubeconfig(account)
        self._environ = {**os.environ, **_clock_environ(plane.folder), "CLOCK_FILE": str(self._clock)}
        self.options: tuple[str, ...] = ()
        self.jump(0)

    def start(self) -> None:
        """Start it; it need not be ready."""
        command = [sys.executable, "-m", "muster", "sidecar", "--kubeconfig", str(self._kubeconfig), "--probe-bind", "127.0.0.1:0"]
        inside = self.network.command if self.network is not None else []
        self.process.start([*inside, *command, "--identity", self.name, *self.options], self._environ)

    def jump(self, seconds: int) -> None:
        """Set its clock of the time of day so many seconds off."""
        new = self._clock.with_suffix(".new")
        new.write_text(str(seconds), encoding="ascii")
        new.replace(self._clock)

    def cut(self, *what: str) -> None:
        """Part it from the API server: packets of these DIRECTIONS are dropped, or without a network of its own all bytes are held back."""
        if self.network is not None:
            self.network.drop(*what)
        else:
            self.proxy.cut.set()

    def mend(self) -> None:
        """Connect it again."""
        if self.network is not None:
            self.network.mend()
        self.proxy.cut.clear()


@contextlib.contextmanager
def sidecars(plane: ControlPlane, folder: Path, account: Path, count: int) -> Iterator[list[Sidecar]]:
    """Yield *count* replicas, which are not started yet."""
    with contextlib.ExitStack() as stack:
        result = []
        for number in range(count):
            net = stack.enter_context(network(number))
            proxy = stack.enter_context(faults(plane, net.here if net is not None else "127.0.0.1"))
            result.append(Sidecar(f"sidecar-{number}", plane, proxy, net, folder, account))
            stack.callback(result[-1].process.stop)
        yield result


def _clock_environ(folder: Path) -> dict[str, str]:
    """Return the environment of a process whose clock can jump: by a library in *folder* where a compiler is at hand, else for Python only."""
    library = folder / "clock.so"
    if not library.exists() and (compiler := shutil.which("cc")):
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, CLOCK / "realtime.c"], check=True, capture_output=True)
    return {"LD_PRELOAD": str(library)} if library.exists() else {"PYTHONPATH": str(CLOCK)}
