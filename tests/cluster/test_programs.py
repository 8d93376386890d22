"""Search for the programs, and the message if there are none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import go_tools, programs


def fake(folder, name, told="Kubernetes v1.37.1"):
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{told}'\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A machine without a control plane."""
    monkeypatch.delenv(programs.FOLDER, raising=False)
    monkeypatch.delenv(programs.KUBERNETES, raising=False)
    monkeypatch.setenv(programs.CACHE, str(tmp_path / "cache"))
    return tmp_path


def test_without_programs_it_is_said_how_to_get_them(nowhere):
    with pytest.raises(programs.MissingError, match=r"^`make cluster-assets` builds one .* KUBEBUILDER_ASSETS names"):
        programs.find()


def test_what_was_built_is_found(nowhere):
    programs.cached().mkdir(parents=True)

    assert programs.cached() == programs.find().folder
    assert programs.cached() == programs.build()


def test_a_changed_module_is_built_again(nowhere, monkeypatch, tmp_path):
    before = programs.cached()
    module = tmp_path / "module"
    module.mkdir()
    for name in programs.SOURCES:
        (module / name).write_bytes((programs.MODULE / name).read_bytes())
    monkeypatch.setattr(programs, "MODULE", module)
    assert before == programs.cached()

    with (module / "main.go").open("a", encoding="utf-8") as source:
        source.write("// more\n")

    assert before != programs.cached()
    assert before.parent == programs.cached().parent


def test_the_cache_is_where_the_user_wants_caches(monkeypatch, tmp_path):
    monkeypatch.delenv(programs.CACHE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert tmp_path / "muster" / "cluster-assets" == programs.cached().parent


def test_a_folder_that_is_named_is_used_as_it_is(nowhere, monkeypatch):
    for name in programs.NEEDED:
        fake(nowhere, name)
    monkeypatch.setenv(programs.FOLDER, str(nowhere))

    assert nowhere == programs.find().folder
    with pytest.raises(programs.MissingError, match="must have kube-scheduler"):
        programs.find().path("kube-scheduler")


@pytest.mark.parametrize("lacking", programs.NEEDED)
def test_a_folder_that_is_named_has_what_every_test_needs(nowhere, monkeypatch, lacking):
    for name in {*programs.NEEDED} - {lacking}:
        fake(nowhere, name)
    monkeypatch.setenv(programs.FOLDER, str(nowhere))

    with pytest.raises(programs.MissingError, match=f"must have {lacking};"):
        programs.find()


@pytest.mark.parametrize(("messages", "minor"), [("v1.30.14", 30), ("v1.38.0-alpha.2", 38)])
def test_the_version_is_that_of_kube_apiserver(nowhere, monkeypatch, messages, minor):
    for name in programs.NEEDED:
        fake(nowhere, name, f"Kubernetes {messages}")
    monkeypatch.setenv(programs.FOLDER, str(nowhere))

    assert (nowhere, minor) == (programs.find().folder, programs.find().minor())
    assert nowhere == programs.of(f"1.{minor}").folder


def run_on_fakes(nowhere, tests, told):
    """Run *tests* of this folder on programs of version *told*, where a missing control plane is a failure and nothing was built."""
    for name in programs.NEEDED:
        fake(nowhere, name, f"Kubernetes {told}")
    environ = {**os.environ, programs.FOLDER: str(nowhere), programs.REQUIRED: "1"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", *(f"tests/cluster/{each}" for each in tests)]
    return subprocess.run(command, capture_output=True, text=True, env=environ, check=False, cwd=Path(__file__).parents[2])


def test_tests_are_skipped_on_a_version_older_than_they_need(nowhere):
    names = ("test_control_plane.py::test_objects_stay_over_a_restart", "test_older_kubernetes.py")

    done = run_on_fakes(nowhere, names, "v1.34.9")

    assert 0 == done.returncode, done.stdout
    assert "Kubernetes 1.37 or newer is needed, and the control plane is 1.34\n" in done.stdout
    for name in ("1.35.3", "1.36.2"):
        minor = name.rpartition(".")[0]
        assert f"no control plane: `make cluster-assets KUBERNETES={name}` builds the one of Kubernetes {minor}\n" in done.stdout


def test_tests_run_on_the_oldest_version_that_they_name(nowhere):
    """The program that is started is no API server."""
    done = run_on_fakes(nowhere, ["test_control_plane.py::test_a_flag_that_is_wrong_is_reported_with_the_log"], "v1.30.14")

    assert "has ended with 0" in done.stdout, done.stdout


def test_what_says_no_version_is_refused(nowhere, monkeypatch):
    for name in programs.NEEDED:
        fake(nowhere, name, "nothing")
    monkeypatch.setenv(programs.FOLDER, str(nowhere))

    with pytest.raises(programs.MissingError, match=r"must say a version v1\.x\.y, and says 'nothing'"):
        programs.find()


def test_without_go_nothing_is_built_and_one_line_says_so(nowhere):
    environ = {**os.environ, "PATH": str(nowhere)}
    done = subprocess.run([sys.executable, "-m", "tests.cluster.programs"], capture_output=True, text=True, env=environ, check=False)

    assert (2, "") == (done.returncode, done.stdout)
    assert re.fullmatch(r"error: go must be installed .*\n", done.stderr)
    assert not programs.cached().exists()


def test_a_build_that_fails_leaves_nothing_behind(nowhere, monkeypatch):
    fake(nowhere, "go")
    (nowhere / "go").write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    monkeypatch.setenv("PATH", f"{nowhere}:{os.environ['PATH']}")

    with pytest.raises(programs.MissingError, match="failed with exit status 3"):
        programs.build()
    assert [programs.cached().with_suffix(".lock")] == list(programs.cached().parent.iterdir())


def test_every_name_is_a_link_to_the_one_program(nowhere, monkeypatch):
    (nowhere / "go").write_text(
        """#!/bin/sh
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\\nbasename "$0"\\n' > "$2"
chmod +x "$2"
""",
        encoding="utf-8",
    )
    (nowhere / "go").chmod(0o755)
    monkeypatch.setenv("PATH", f"{nowhere}:{os.environ['PATH']}")

    folder = programs.build()

    messages = [subprocess.run([folder / name], capture_output=True, text=True, check=True).stdout.strip() for name in programs.NAMES]
    assert list(programs.NAMES) == messages


def test_a_version_that_cannot_be_built_is_refused_with_those_that_can(nowhere, monkeypatch):
    monkeypatch.setenv(programs.KUBERNETES, "1.36.0")
    known = ", ".join(each.removeprefix("v") for each in programs.versions())
    with pytest.raises(programs.MissingError, match=rf"KUBERNETES must be one or more of {re.escape(known)}, not '1\.36\.0'"):
        programs.build()


def test_several_versions_are_built_and_the_first_is_selected(nowhere, monkeypatch, capsys):
    default, older, *_ = programs.versions()
    monkeypatch.setenv("PATH", str(nowhere))
    monkeypatch.setenv(programs.KUBERNETES, f"{older.removeprefix('v')} {default}")
    folders = [programs.cached(each) for each in (older, default)]
    for each in folders:
        each.mkdir(parents=True)

    assert 0 == programs.main()
    assert [str(each) for each in folders] == capsys.readouterr().out.splitlines()
    assert folders[0] == programs.find().folder


def test_a_version_is_found_whichever_is_selected(nowhere):
    default, *others = (each.removeprefix("v") for each in programs.versions())

    for name in others:
        minor = ".".join(name.split(".")[:2])
        with pytest.raises(programs.MissingError, match=rf"^`make cluster-assets KUBERNETES={re.escape(name)}` builds"):
            programs.of(minor)
        programs.cached(f"v{name}").mkdir(parents=True)
        assert programs.cached(f"v{name}") == programs.of(minor).folder == programs.of(name).folder
    with pytest.raises(ValueError, match=rf"'1\.3' must be one of {re.escape(default)}, "):
        programs.of("1.3")


def test_another_version_is_built_with_a_stand_in_for_what_no_proxy_serves(nowhere, monkeypatch):
    """The module of the server before has a type, a conversion, a client and a test."""
    version = [*programs.versions()][-1]
    older = nowhere / "older"
    imports = 'import "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"'
    for path in (
        "apis/apiextensions/v1/types.go",
        "apis/apiextensions/v1/zz_generated.conversion.go",
        "client/client.go",
        "client/client_test.go",
    ):
        (older / "pkg" / path).parent.mkdir(parents=True, exist_ok=True)
        (older / "pkg" / path).write_text(imports, encoding="utf-8")
    (nowhere / "go").write_text(
        f"""#!/bin/sh
if [ "$1" = mod ]; then echo '{{"Dir": "{older}"}}'; exit; fi
while [ "$1" != -o ]; do shift; done
find . -type f | sort > "$2"
cat apiextensions-api/pkg/client/client.go >> "$2"
""",
        encoding="utf-8",
    )
    (nowhere / "go").chmod(0o755)
    monkeypatch.setenv("PATH", f"{nowhere}:{os.environ['PATH']}")
    default = programs.cached()
    monkeypatch.setenv(programs.KUBERNETES, version.removeprefix("v"))

    folder = programs.build()

    assert (folder.name.startswith(version), folder.parent, default.exists()) == (True, default.parent, False)
    assert (folder / programs.ONE_PROGRAM).read_text(encoding="utf-8").split("\n") == [
        "./apiextensions-api/go.mod",
        "./apiextensions-api/pkg/apis/apiextensions/v1/types.go",
        "./apiextensions-api/pkg/client/client.go",
        "./go.mod",
        "./go.sum",
        "./ktesting/go.mod",
        "./main.go",
        'import "k8s.io/apiextensions-api/pkg/apis/apiextensions/v1"',
    ]


@pytest.mark.parametrize("name", go_tools.NAMES)
def test_a_tool_is_built_once_of_its_own_module(nowhere, monkeypatch, name):
    with pytest.raises(programs.MissingError, match=f"`make cluster-assets` builds {name} "):
        go_tools.find(name)
    go = nowhere / "go"
    go.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho "$PWD $3" > "$2"\n', encoding="utf-8")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{nowhere}:{os.environ['PATH']}")

    built = go_tools.build(name)
    go.unlink()

    folder, package = built.read_text(encoding="utf-8").split()
    assert programs.MODULE / name == Path(folder)
    assert (f"tool {package}" in Path(folder, "go.mod").read_text(encoding="utf-8"), name in package) == (True, True)
    assert built == go_tools.build(name) == go_tools.find(name)


def test_a_tool_of_our_own_is_built_again_when_its_source_changes(nowhere, monkeypatch):
    module = nowhere / "module"
    shutil.copytree(programs.MODULE, module)
    monkeypatch.setattr(programs, "MODULE", module)
    go = nowhere / "go"
    go.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho built > "$2"\n', encoding="utf-8")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{nowhere}:{os.environ['PATH']}")
    before = go_tools.build("kueue")

    with (module / "kueue" / "judge.go").open("a", encoding="utf-8") as source:
        source.write("// more\n")

    with pytest.raises(programs.MissingError):
        go_tools.find("kueue")
    assert before != go_tools.build("kueue")
