"""Where the demonstration is shown: what is printed there."""

from __future__ import annotations

import pytest

from muster.commands.demo.terminal import Stage


@pytest.mark.parametrize(
    ("lines", "want"),
    [
        pytest.param(["a"], "  a\n\n", id="a line is indented"),
        pytest.param(["a ", " ", "b"], "  a\n\n  b\n\n", id="nothing is left at the end of a line"),
        pytest.param(["NAME   " + "b" * 60 + " " + "c" * 40], f"  NAME   {'b' * 60}\n{' ' * 9}{'c' * 40}\n\n", id="a long one hangs"),
        pytest.param([], "\n", id="nothing was printed"),
    ],
)
def test_what_a_command_printed(capsys, lines, want):
    Stage(colour=False).printed(lines)
    assert want == capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "want"),
    [
        pytest.param("pod/a created", "pod/a \x1b[32mcreated\x1b[0m", id="well"),
        pytest.param("a   Unschedulable   0s", "a   \x1b[33mUnschedulable\x1b[0m   0s", id="not now"),
        pytest.param('The "a" is invalid: Invalid value', 'The "a" \x1b[31mis invalid:\x1b[0m Invalid value', id="wrong, once"),
        pytest.param("PodGroupInitiallyScheduled", "PodGroupInitiallyScheduled", id="a part of a word"),
    ],
)
def test_words_for_the_result_are_in_colour_on_a_terminal(capsys, line, want):
    for colour, shown in ((True, want), (False, line)):
        Stage(colour=colour).printed([line])
        assert f"  {shown}\n\n" == capsys.readouterr().out


LONG = "kubectl get pods --output=custom-columns=" + "x" * 58


@pytest.mark.parametrize(
    ("command", "want"),
    [
        pytest.param("kubectl get pods", "$ kubectl get pods\n", id="a short one stays whole"),
        pytest.param(LONG[:-3], f"$ {LONG[:-3]}\n", id="one that just fits behind its prompt"),
        pytest.param(LONG[:-2], "$ " + LONG[:-2].replace(" --", " \\\n    --") + "\n", id="a column too many, with the mark of a fold"),
        pytest.param("x" * 120, f"$ \\\n    {'x' * 120}\n", id="a word longer than a line"),
    ],
)
def test_a_command_is_shown_behind_a_prompt(capsys, command, want):
    Stage(colour=False).command(command)
    assert want == capsys.readouterr().out


def test_the_purpose_of_a_command_is_below_it(capsys):
    Stage(colour=False).command("kubectl get pods", "all pods")
    assert "$ kubectl get pods\n    all pods\n" == capsys.readouterr().out


class Recorded:
    """A shell that prints three lines for each command."""

    def run(self, line, *expected, refused):
        return [line, "Status:", f"{expected} {refused}"]


@pytest.mark.parametrize(
    ("since", "want"),
    [("Status:", "  …\n  Status:\n"), ("", "  get\n  Status:\n"), ("absent", "  get\n  Status:\n")],
)
def test_the_output_of_a_command_is_shown_from_a_line_on(capsys, since, want):
    Stage(colour=False).run(Recorded(), "get", "a", refused=True, since=since)
    assert f"$ get\n{want}  ('a',) True\n\n" == capsys.readouterr().out
