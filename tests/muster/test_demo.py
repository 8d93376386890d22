"""``muster demo``: it runs, shows what it promises, and leaves nothing behind but a page."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from muster import cli
from muster.commands.demo import child_processes, command, terminal
from validators.lint import files, lint_files
from validators.rules.base import Settings

MISTAKES = [
    ("deep.yaml", "template-depth"),
    ("groups.yaml", "schema-unknown-field"),
    ("groups.yaml", "tree-matches-templates"),
    ("pods.yaml", "scheduling-group-exists"),
    ("workload.yaml", "disruption-nesting"),
    ("workload.yaml", "gang-minimum"),
    ("workload.yaml", "priority-uniform"),
    ("workload.yaml", "template-names-unique"),
]


ROOT = Path(__file__).parents[2]


def launch(tmp_path, *arguments, where=None, **environment):
    """The demonstration as a user runs it, with a temporary directory that can be looked into."""
    place = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")} | {"TMPDIR": str(tmp_path)}
    return subprocess.run(
        [sys.executable, "-m", "muster", "demo", *arguments],
        env=place | environment,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        cwd=where,
    )


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """Return an ended demonstration, and its temporary directory."""
    folder = tmp_path_factory.mktemp("demo")
    return launch(folder), folder


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """Return an ended demonstration with settings of another server and proxies, and its temporary directory."""
    other = {"MUSTER_WORKERS": "none", "MUSTER_PROFILE": "wrong", "HTTPS_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    folder = tmp_path_factory.mktemp("elsewhere")
    return launch(folder, **other), folder


@pytest.fixture
def folder(tmp_path):
    """A directory with a certificate for the loopback, in certs."""
    child_processes.Shell(tmp_path).run(child_processes.ISSUE)
    return tmp_path


SERVE = "muster serve --bind 127.0.0.1:0 --workers 1 --tls-cert certs/tls.crt --tls-key certs/tls.key"


def instead_of_muster(monkeypatch, program):
    monkeypatch.setattr(child_processes, "muster", lambda _: [sys.executable, "-c", program, "serve"])


def posted(address, folder):
    return child_processes.ask(address, "/validate", b"{}", folder / "certs/ca.crt")


def test_manifests_hold_one_mistake_of_each_kind_promised(monkeypatch):
    monkeypatch.chdir(command.DATA / "manifests")
    report = lint_files.run(files.read_manifests(["."], sys.stdin.buffer), (), settings=Settings(linting=True))

    assert sorted((Path(each.file).name, each.rule) for each in report.findings) == MISTAKES


def test_runs_to_its_end_and_leaves_a_page_alone(ended):
    ended, folder = ended

    assert (ended.returncode, ended.stderr) == (0, "")
    for _, rule in MISTAKES:
        assert f"error {rule}:" in ended.stdout
    assert "8 errors in 8 documents of 4 files" in ended.stdout
    admission = ended.stdout.partition("2  Admission")[2].partition("3  Placement")[0]
    assert re.findall(r"^  (\w+)(?:,| |$)", admission, re.MULTILINE) == [
        *("allowed", "refused", "refused", "refused", "allowed", "completed", "HTTP"),
    ]
    assert 'The PodGroup "notebook" is invalid: spec.disruptionMode: Invalid value' in ended.stdout
    assert 'spec.disruptionMode set to {"single": {}}' in ended.stdout
    assert "spec.priority set to 100000" in ended.stdout
    assert "1 of 3 roots placed: 8 pods placed, 6 pending, 2 pods would be evicted" in ended.stdout
    (page,) = folder.iterdir()
    assert f"\n    {page}\n" in ended.stdout
    assert "<h1>" in page.read_text(encoding="utf-8")


def test_output_is_plain_and_narrow_where_it_is_no_terminal(ended):
    ended, folder = ended
    assert "\x1b" not in ended.stdout
    # Findings are as muster lint prints them, and the name of a file is not cut, however long it is.
    rest = ended.stdout.partition("2  Admission")[2]
    assert [line for line in rest.splitlines() if len(line) > terminal.WIDTH and str(folder) not in line] == []


def test_output_is_the_same_each_time_but_for_the_port_and_the_name_of_the_page(ended, elsewhere):
    ended, folder = ended
    again, other_folder = elsewhere
    again = again.stdout.replace(str(other_folder), str(folder))
    first, second = (re.sub(r"127\.0\.0\.1:\d+;|muster-placement-\w+", "", each) for each in (ended.stdout, again))
    assert first == second


def test_the_documentation_shows_the_real_output(ended):
    shown = ended[0].stdout
    page = (Path(__file__).parents[2] / "docs" / "demo.md").read_text(encoding="utf-8")
    block = page.partition("<!-- demo:begin -->\n```\n")[2].partition("\n```\n<!-- demo:end -->")[0]
    parts = [part for part in re.split(r"^…$\n?|^$\n", block, flags=re.MULTILINE) if part.strip()]

    assert len(parts) > 5
    assert [part for part in parts if part not in shown] == []


def test_placement_shows_one_that_fits_one_that_evicts_and_one_that_does_not_fit(monkeypatch):
    monkeypatch.chdir(command.DATA)
    answer = json.loads(CliRunner().invoke(cli.main, ["simulate", "placement", "--format", "json"]).stdout)

    assert answer["problems"] == []
    found = {each["root"]["name"]: (each["status"], len(each["assignments"]), each["victims"]) for each in answer["decisions"]}
    assert found == {
        "training-run": ("Success", 8, []),
        "evaluation": ("Unschedulable", 0, ["research/notebook-0", "research/notebook-1"]),
        "sweep": ("Unschedulable", 0, []),
    }


def test_settings_of_another_server_and_proxies_do_not_matter(elsewhere):
    assert elsewhere[0].returncode == 0


def test_children_inherit_no_other_cluster_and_no_proxy(monkeypatch, tmp_path):
    for name in ("KUBECONFIG", "KUBERC", "MUSTER_BIND", "PROMETHEUS_MULTIPROC_DIR", "HTTPS_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("KEPT", "x")

    assert ["KEPT"] == [name for name, value in child_processes.environment(tmp_path).items() if value == "x"]


def test_server_that_does_not_start_is_reported_with_its_last_lines(tmp_path, monkeypatch):
    instead_of_muster(monkeypatch, "import sys; sys.exit('\\n'.join(f'line {n}' for n in range(8)) + '\\n' + 'x' * 301)")
    with pytest.raises(child_processes.ServerError) as told, child_processes.server("muster serve", tmp_path):
        pass
    assert str(told.value) == "muster serve does not start: " + "; ".join([*(f"line {n}" for n in range(4, 8)), "x" * 300])


def test_failure_is_a_line_and_exit_2(monkeypatch, capsys):
    def fail(*_):
        raise child_processes.ServerError("muster serve does not start: because")

    monkeypatch.setattr(child_processes, "server", fail)
    assert command.demo.main(["--no-color"], standalone_mode=False) == command.EXIT_FAILED
    assert capsys.readouterr().err == "muster demo: muster serve does not start: because\n"


def test_ctrl_c_is_answered_and_no_second_one_disturbs_what_is_stopped(monkeypatch, capsys):
    stopped = []

    def interrupted(*_):
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
            stopped.append(True)

    monkeypatch.setattr(command, "_show", interrupted)
    before = signal.getsignal(signal.SIGINT)
    assert command.EXIT_INTERRUPTED == command.demo.main([], standalone_mode=False)
    assert ([True], before) == (stopped, signal.getsignal(signal.SIGINT))
    assert capsys.readouterr().err.endswith("muster demo: stopped; its processes and files are removed\n")


@pytest.mark.parametrize("leaving", [KeyboardInterrupt, RuntimeError])
def test_server_is_stopped_however_it_is_left(folder, leaving):
    answers = []

    def use():
        with child_processes.server(SERVE, folder) as address:
            answers.append(address)
            answers.append(posted(address, folder)[0])
            raise leaving

    with pytest.raises(leaving):
        use()
    address, code = answers
    assert code == 400
    with pytest.raises(child_processes.ServerError, match="does not answer"):
        posted(address, folder)


def test_server_that_does_not_listen_to_sigterm_is_ended_too(tmp_path, monkeypatch):
    program = (
        "import json, os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "open('pid', 'w').write(str(os.getpid()))\n"
        "print(json.dumps({'event': 'listening', 'address': '127.0.0.1:1'}), flush=True)\n"
        "time.sleep(60)\n"
    )
    instead_of_muster(monkeypatch, program)
    monkeypatch.setattr(child_processes, "STOP_SECONDS", 0.2)
    with child_processes.server("muster serve", tmp_path) as address:
        assert "127.0.0.1:1" == address
        number = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_certificate_of_the_server_is_verified(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    child_processes.Shell(other).run(child_processes.ISSUE)
    with (
        child_processes.server(SERVE, folder) as address,
        pytest.raises(child_processes.ServerError, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        posted(address, other)


def test_sigterm_unwinds_and_the_old_way_comes_back():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as stopped, command._stopped_in_order():
        signal.raise_signal(signal.SIGTERM)
    assert (command.EXIT_TERMINATED, before) == (stopped.value.code, signal.getsignal(signal.SIGTERM))


def test_sighup_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with command._stopped_in_order():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_recorded_reviews_are_whole():
    for line in (command.DATA / "reviews.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        assert {"about", "path", "review"} == set(record)
        assert record["review"]["request"]["namespace"] == "research"


def test_files_to_play_with_are_left_in_a_new_directory(tmp_path):
    kept = tmp_path / "a b"
    done = launch(tmp_path, "--write", "a b", where=tmp_path, PYTHONPATH=str(ROOT))
    assert (done.returncode, done.stderr) == (0, "")
    assert {"cluster.yaml", "manifests", "placement", "placement.html", "reviews.jsonl"} == {each.name for each in kept.iterdir()}
    assert {"a b"} == {each.name for each in tmp_path.iterdir()}
    tried = next(each for each in done.stdout.splitlines() if each.startswith("$ muster simulate") and each.endswith("--evict"))
    command = [sys.executable, "-m", *shlex.split(tried.removeprefix("$ "))]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert "CompositePodGroup research/training-run" in answer.stdout


MISTAKEN = {
    "not empty": (("--write", "full"), "full is not empty; give a new directory"),
    "a file": (("--write", "full/file"), "full/file: file exists"),
    "with a cluster": (("--write", "new", "--cluster"), "--write and --cluster exclude each other"),
}


@pytest.mark.parametrize(("arguments", "want"), MISTAKEN.values(), ids=MISTAKEN)
def test_a_directory_with_files_is_left_alone(arguments, want, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("kept", encoding="utf-8")
    answer = CliRunner().invoke(cli.main, ["demo", *arguments])
    assert (2, True) == (answer.exit_code, want in answer.stderr)
    assert ["full", "full/file"] == sorted(str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*"))
