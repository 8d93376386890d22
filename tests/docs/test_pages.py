"""Every command that a page shows does what the page shows; every example runs."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import click
import pytest

from muster import cli
from tests.docs import pages
from tests.docs.pages import ROOT

LANGUAGES = {"", "console", "json", "lisp", "lua", "mermaid", "pycon", "python", "sh", "text", "toml", "yaml"}
NAMES = [path.relative_to(ROOT).as_posix() for path in pages.with_commands()]


def texts() -> list[tuple[str, str]]:
    return [(name, (ROOT / name).read_text(encoding="utf-8")) for name in NAMES]


def with_language(*languages: str) -> list[str]:
    return [name for name, text in texts() if any(each.language in languages for each in pages.blocks(text))]


@pytest.mark.parametrize("name", with_language("console"))
def test_commands_have_the_output_that_is_shown(name: str, tmp_path: Path) -> None:
    """Where this fails, ``python -m tests.docs`` writes the outputs anew."""
    session = pages.session(ROOT / name, tmp_path)
    for block in pages.blocks((ROOT / name).read_text(encoding="utf-8")):
        if block.title:
            session.write(block)
        elif block.language == "console":
            for call in pages.calls(block.text):
                said = session.run(call.command)
                assert pages.matches(call.output, said), f"$ {call.command}\n{said}\n--- and not\n{call.output}"


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "start").glob("*.md")), ids=lambda each: each.stem)
def test_a_first_page_is_short_and_answers_with_a_command(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.split()) < 400
    assert any(each.language == "console" for each in pages.blocks(text))


@pytest.mark.parametrize("name", with_language("pycon"))
def test_python_has_the_output_that_is_shown(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for block in pages.blocks(text):
        if block.title:
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    session = "\n".join(block.text for block in pages.blocks(text) if block.language == "pycon")
    test = doctest.DocTestParser().get_doctest(session, {}, name, name, 0)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)

    assert test.examples
    assert "".join(said) == ""


@pytest.mark.parametrize("name", with_language("sh"))
def test_other_commands_call_muster_as_it_is(name: str) -> None:
    """What needs a cluster is not run here; but every command and option of it exists."""
    for block in pages.blocks((ROOT / name).read_text(encoding="utf-8")):
        if block.language == "sh":
            for words in calls_of_muster(block.text):
                group = cli.main.make_context("muster", [*words])
                _, command, rest = cli.main.resolve_command(group, [*words])
                assert command is not None
                parsed(command, rest, group)


def parsed(command: click.Command, words: list[str], parent: click.Context) -> None:
    try:
        context = command.make_context(command.name, [*words], parent=parent)
    except click.exceptions.Exit:
        return  # --help
    if isinstance(command, click.Group):
        _, below, rest = command.resolve_command(context, [*words])
        assert below is not None
        parsed(below, rest, context)


def calls_of_muster(text: str) -> list[list[str]]:
    """The arguments of each call of ``muster`` in some lines of shell."""
    joined = re.sub(r"\\\n\s*", " ", text)
    found: list[list[str]] = []
    words: list[str] = []
    for token in [*(each for line in joined.splitlines() for each in [*tokens(line), ";"]), ";"]:
        if token.strip("|;&()") == "":
            found += [words[1:]] if words and words[0] == "muster" else []
            words = []
        else:
            words.append(token)
    return [each for each in found if each]


def tokens(line: str) -> list[str]:
    """The words of a line of shell, without its redirections and its comment."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>()")
    lexer.whitespace_split = True
    listed = [*lexer]
    return [each for number, each in enumerate(listed) if not {each, *listed[max(number - 1, 0) : number]} & {"<", ">", ">>"}]


@pytest.mark.parametrize(("name", "text"), texts(), ids=NAMES)
def test_a_page_has_one_title_and_known_languages(name: str, text: str) -> None:
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)

    assert len(re.findall(r"^# ", outside, re.MULTILINE)) == (0 if '--8<-- "' in outside and "# " not in outside else 1)
    assert {each.language for each in pages.blocks(text)} <= LANGUAGES
    assert all(each.text.strip() for each in pages.blocks(text)), "a block is empty"
    assert all(pages.calls(each.text) for each in pages.blocks(text) if each.language == "console"), "a session has a line with $"
    assert "```" not in outside, "a block that is indented or not closed is not tried"


@pytest.mark.parametrize(
    ("shown", "said", "want"),
    [
        ("a\nb", "a\nb", True),
        ("a", "a\nb", False),
        ("a\n…\nd", "a\nb\nc\nd", True),
        ("a\n…\nd", "a\nd", True),
        ("a\n…\nd", "a\nb", False),
        ("took …", "took 3 s", True),
        ("", "", True),
        ("", "a", False),
        ("a.b", "axb", False),
    ],
)
def test_what_is_left_out_may_be_anything(shown: str, said: str, want: bool) -> None:
    assert pages.matches(shown, said) == want


def test_a_session_is_taken_apart() -> None:
    session = "$ echo a \\\n>   b\na b\n\nc\n$ true\n"

    assert [(each.command, each.output) for each in pages.calls(session)] == [("echo a \\\n  b", "a b\n\nc"), ("true", "")]
    assert pages.written(session, ["a b\n\nc", ""]) == session


def test_calls_are_found_in_shell() -> None:
    text = "kubectl get pods -o json | muster simulate - train.yaml > out   # a remark\nmuster lint \\\n  .\nmuster-x y\n"

    assert calls_of_muster(text) == [["simulate", "-", "train.yaml"], ["lint", "."]]
