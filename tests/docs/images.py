"""Pictures of the documentation, made from real output: ``python -m tests.docs.images [NAME...]``.

``lint`` is what a terminal shows of ``muster lint``, ``describe`` what it shows of ``kubectl describe`` on the control plane of
``muster demo --cluster``; ``report``, ``devices`` and ``cluster`` are screenshots of pages of ``muster simulate --format html``.
"""

from __future__ import annotations

import html
import itertools
import json
import os
import pty
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from muster.commands.demo import cluster_demo, local_control_plane
from muster.commands.demo.terminal import DATA, Stage
from tests.docs.pages import DOCS, blocks
from tests.muster import browser, paged

IMAGES = DOCS / "images"
COLUMNS = 104
_DATE = "1785600000"
"""Seconds since 1970: the date on the pages, so that the same page gives the same picture."""
LARGEST = 200_000
"""Bytes of a picture."""
_ESCAPE = re.compile(r"\x1b\[([\d;]*)m")
_WIDTH, _HEIGHT, _MARGIN = 7.85, 18, 16
"""Pixels: of a character, of a line, around the text."""
_COLOURS = {"1": 'font-weight="bold"', "2": 'fill="#8b949e"', "31": 'fill="#ff7b72"', "32": 'fill="#7ee787"', "33": 'fill="#e3b341"'}
_COLOURS |= {"34": 'fill="#79c0ff"', "35": 'fill="#d2a8ff"', "36": 'fill="#76e3ea"'}


def lint() -> Path:
    """Draw what the linter writes to a terminal."""
    return _written("lint", terminal_with_findings())


def terminal_with_findings() -> str:
    """Lint some manifests of the demonstration in a terminal."""
    names = ("manifests/groups.yaml", "manifests/pods.yaml")
    said = _in_a_terminal([sys.executable, "-m", "muster", "lint", *names], DATA)
    return _drawn(f"muster lint {' '.join(names)}", said)


def describe() -> Path:
    """Describe a group that does not fit, on the demonstration's control plane."""
    stage = Stage(colour=False)
    with tempfile.TemporaryDirectory() as name, local_control_plane.installed(stage, local_control_plane.find(), Path(name)) as shell:
        for step in (cluster_demo.admission, cluster_demo.training, cluster_demo.no_capacity):
            step(stage, shell)
        said = "\n".join(shell.run("kubectl describe podgroup sweep", "FailedScheduling"))
    return _written("describe", _drawn("kubectl describe podgroup sweep", said))


def report() -> Path:
    """Take a screenshot of the page for the demonstration's cluster."""
    with tempfile.TemporaryDirectory() as name:
        return _screenshot("report", ["placement"], DATA, Path(name), 1040)


def devices() -> Path:
    """Take a screenshot of the page for the files of the page about devices."""
    with tempfile.TemporaryDirectory() as name:
        for each in blocks((DOCS / "devices.md").read_text(encoding="utf-8")):
            if each.title:
                (Path(name) / each.title).write_text(each.text, encoding="utf-8")
        arguments = ["cluster.yaml", "other.yaml", "train.yaml", "--device-topology", "gpu.example.com/partition"]
        return _screenshot("devices", arguments, Path(name), Path(name), 1090)


def cluster() -> Path:
    """Take a screenshot of the heat map of a cluster with 480 nodes, with a gang that needs evictions and one that fits."""
    chance, objects = random.Random(1), list[dict[str, Any]]()
    for place in itertools.product(range(2), range(8), range(30)):
        zone, rack, number = place
        labels = {paged.ZONE: f"zone-{'ab'[zone]}", paged.RACK: f"rack-{'ab'[zone]}{rack}"}
        name = f"gpu-{'ab'[zone]}{rack}-{number:02}"
        objects.append(paged.machine(name, "64", "512Gi", gpus=8, cordoned=chance.random() < 0.02, labels=labels))
        used = chance.choice((0, 2, 4, 6, 8, 8, 8)) if rack % 3 else chance.choice((6, 8))
        objects.append(paged.member(f"run-{name}", on=name, cpu=str(6 * used + 1), gpus=used, priority=chance.choice((0, 1000))))
    objects += paged.gang("pretraining", 8, cpu="48", gpus=8, key=paged.RACK, priority=500)
    objects += paged.gang("finetuning", 16, cpu="12", gpus=2, key=paged.ZONE)
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "cluster.json").write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
        return _screenshot("cluster", ["cluster.json"], Path(name), Path(name), 800, "#cluster")


def _screenshot(picture: str, arguments: Sequence[str], directory: Path, scratch: Path, height: int, part: str = "body") -> Path:
    """Take a screenshot of the page of ``muster simulate`` in *directory*, of *height* pixels, from the element *part* on."""
    path, page = IMAGES / f"{picture}.png", scratch / "page.html"
    command = [sys.executable, "-m", "muster", "simulate", *arguments, "--format", "html"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": _DATE}
    page.write_bytes(subprocess.run(command, cwd=directory, env=environment, stdout=subprocess.PIPE, check=False).stdout)
    with browser.running(scratch / "profile") as chromium:
        chromium.open(page, width=1200, height=height)
        chromium.value(f"document.documentElement.style.scrollBehavior = 'auto'; document.querySelector('{part}').scrollIntoView()")
        chromium.picture(path, whole=False)
    return path


def _in_a_terminal(command: list[str], directory: Path) -> str:
    """Return what a command writes to a terminal, colours included."""
    master, slave = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm", "COLUMNS": str(COLUMNS)}
    with subprocess.Popen(command, cwd=directory, stdin=slave, stdout=slave, stderr=slave, env=environment):
        os.close(slave)
        parts = []
        while part := _read(master):
            parts.append(part)
    os.close(master)
    return b"".join(parts).decode().replace("\r\n", "\n").rstrip()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


def _drawn(command: str, said: str) -> str:
    """Draw a command and its output as SVG."""
    lines = [line for each in (f"\x1b[2m$\x1b[0m \x1b[1m{command}\x1b[0m", *said.split("\n")) for line in _folded(each)]
    width, height = round(COLUMNS * _WIDTH) + 2 * _MARGIN, len(lines) * _HEIGHT + 2 * _MARGIN
    drawing = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{html.escape(command)}</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="13" fill="#e6edf3">',
        *(_line(line, _MARGIN + (number + 1) * _HEIGHT - 5) for number, line in enumerate(lines)),
        "</g>",
        "</svg>",
    ]
    return "\n".join(drawing) + "\n"


def _written(name: str, drawing: str) -> Path:
    path = IMAGES / f"{name}.svg"
    path.write_text(drawing, encoding="utf-8")
    return path


def _folded(line: str) -> Iterator[str]:
    """Yield the lines of a terminal that a line takes; one that goes on has its style again."""
    style, room, row = "", COLUMNS, ""
    for part in re.split(r"(\x1b\[[\d;]*m)", line):
        if _ESCAPE.fullmatch(part):
            style = part
            row += part
            continue
        rest = part
        while len(rest) > room:
            yield row + rest[:room]
            rest, row, room = rest[room:], style, COLUMNS
        row += rest
        room -= len(rest)
    yield row


def _line(line: str, height: int) -> str:
    """Return a line of text as SVG, each style a span at its column, so that the width of the font does not matter."""
    spans, column, style = [], 0, ""
    for number, part in enumerate(_ESCAPE.split(line)):
        if number % 2:
            codes = [code for code in part.split(";") if code in _COLOURS]
            style = " ".join([*([style] if style and codes else []), *(_COLOURS[code] for code in codes)])
        elif part:
            left, length = _MARGIN + column * _WIDTH, len(part) * _WIDTH
            text = html.escape(part, quote=False).replace(" ", "\N{NO-BREAK SPACE}")
            spans.append(f'<tspan x="{left:.1f}" textLength="{length:.1f}" {style}>{text}</tspan>')
            column += len(part)
    return f'<text y="{height}">{"".join(spans)}</text>'


MAKERS: dict[str, Callable[[], Path]] = {"lint": lint, "report": report, "devices": devices, "cluster": cluster, "describe": describe}

if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or MAKERS:
        print(MAKERS[name]())
