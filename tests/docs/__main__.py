"""Runs what the pages show and writes its output anew: ``python -m tests.docs [PAGE...]``.

Output with parts left out (``…``) stays as it is, and is reported where it is not right any more.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.docs import pages
from tests.docs.pages import Block, Session


def renew(path: Path) -> None:
    """Run a page and write what it says now."""
    text = path.read_text(encoding="utf-8")
    parts, done = [], 0
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as directory:
        session = pages.session(path, Path(directory))
        for block in pages.blocks(text):
            if block.title:
                session.write(block)
            elif block.language in {"console", "pycon"}:
                renewed = of_python(block, names) if block.language == "pycon" else of_shell(block, session, path)
                parts += [text[done : block.start], renewed]
                done = block.end
    path.write_text("".join([*parts, text[done:]]), encoding="utf-8")


def of_shell(block: Block, session: Session, path: Path) -> str:
    outputs = []
    for call in pages.calls(block.text):
        said = session.run(call.command)
        if pages.ELLIPSIS in call.output:
            if not pages.matches(call.output, said):
                print(f"{path}: $ {call.command}: left as it is, but it says now:\n{said}", file=sys.stderr)
            said = call.output
        outputs.append(said)
    return pages.written(block.text, outputs)


def of_python(block: Block, names: dict[str, Any]) -> str:
    lines = []
    for example in doctest.DocTestParser().get_examples(block.text):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(example.source, "<page>", "single"), names)
        first, *more = example.source.rstrip("\n").split("\n")
        lines += [f">>> {first}", *(f"... {each}".rstrip() for each in more), *said.getvalue().splitlines()]
    return "\n".join(lines) + "\n"


for page in [Path(each) for each in sys.argv[1:]] or pages.with_commands():
    renew(page)
