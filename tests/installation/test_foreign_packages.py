"""Packages of other distributions that have the names of Muster's packages: one line with the remedy, or no effect."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import muster_scheduling
from tests.installation import environments
from tests.installation.environments import PACKAGES, Environment
from tests.installation.test_wheels import MANIFESTS
from tests.sampling import SOAK


@pytest.fixture
def writable_environment(tmp_path: Path, wheel: Path) -> Environment:
    """Create an environment whose files the test may change."""
    result = environments.with_extra(tmp_path / "venv", wheel, "webhooks", copied=True)
    assert result.muster("explain", "disruption-nesting").returncode == 0
    return result


def is_one_line(writable_environment: Environment, *arguments: str, **environ: str) -> str:
    ran = writable_environment.muster(*arguments, **environ)

    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stderr
    assert ran.stderr.startswith("muster: ")
    assert ran.stderr.endswith(f"; {muster_scheduling.REMEDY}\n")
    return ran.stderr


def test_the_entry_point_knows_every_package() -> None:
    assert set(muster_scheduling.PACKAGES) == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_that_hides_one_of_ours(package: str, small: Environment, tmp_path: Path) -> None:
    """The other package is not imported: importing it could have any effect."""
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("raise SystemExit('imported')\n")

    messages = is_one_line(small, "lint", MANIFESTS, PYTHONPATH=str(tmp_path))
    assert f"imports the package {package!r} from {tmp_path / package}," in messages


def test_a_module_that_hides_one_of_our_packages(small: Environment, tmp_path: Path) -> None:
    (tmp_path / "validators.py").write_text("")

    assert str(tmp_path / "validators.py") in is_one_line(small, "lint", MANIFESTS, PYTHONPATH=str(tmp_path))


def test_a_package_that_is_gone(writable_environment: Environment) -> None:
    shutil.rmtree(writable_environment.site / "validators")

    assert "imports the package 'validators' from nowhere" in is_one_line(writable_environment, "lint", MANIFESTS)


def test_files_overwritten_and_then_deleted_by_another_distribution(writable_environment: Environment, tmp_path: Path) -> None:
    foreign = environments.foreign_wheel(tmp_path, "certs", {"certs/__init__.py": "MINE = 1\n", "certs/store.py": "SHOP = 2\n"})
    environments.pip(writable_environment.python, "install", "--no-deps", "--no-index", str(foreign))
    overwritten = is_one_line(writable_environment, "certs", "inspect", "certs")
    assert f"{writable_environment.site / 'certs' / '__init__.py'} and 1 more" in overwritten
    assert writable_environment.muster("explain", "disruption-nesting").returncode == 0

    environments.pip(writable_environment.python, "uninstall", "--yes", "certs")
    assert f"{writable_environment.site / 'certs' / '__init__.py'} and 1 more" in is_one_line(
        writable_environment, "certs", "inspect", "certs"
    )


def test_a_package_that_has_lost_its_first_file(writable_environment: Environment, tmp_path: Path) -> None:
    """Without ``__init__.py`` it is a namespace package: its modules exist, its data files do not."""
    foreign = environments.foreign_wheel(tmp_path, "validators", {"validators/__init__.py": "MINE = 1\n"})
    environments.pip(writable_environment.python, "install", "--no-deps", "--no-index", str(foreign))
    assert writable_environment.muster("lint", MANIFESTS).returncode == 1

    environments.pip(writable_environment.python, "uninstall", "--yes", "validators")
    assert str(writable_environment.site / "validators" / "__init__.py") in is_one_line(writable_environment, "lint", MANIFESTS)


def test_an_error_of_our_own_keeps_its_traceback(writable_environment: Environment) -> None:
    """The installed files are unchanged, and no other distribution is to blame."""
    broken = writable_environment.site / "validators" / "reports" / "explain.py"
    record = next(writable_environment.site.glob("muster_scheduling-*.dist-info")) / "RECORD"
    broken.write_text("import nothing_of_that_name\n")
    remaining = [line for line in record.read_text().splitlines(keepends=True) if not line.startswith("validators/reports/explain.py")]
    record.write_text("".join(remaining))

    ran = writable_environment.muster("explain", "disruption-nesting")
    assert (ran.returncode, "No module named 'nothing_of_that_name'" in ran.stderr) == (1, True)


@pytest.mark.timeout(900)
@pytest.mark.skipif(not os.environ.get(SOAK), reason=f"downloads another distribution; {SOAK} asks for it")
def test_the_distribution_validators_next_to_ours(writable_environment: Environment) -> None:
    environments.pip(writable_environment.python, "install", "validators")
    assert writable_environment.muster("lint", MANIFESTS).returncode == 1

    environments.pip(writable_environment.python, "uninstall", "--yes", "validators")
    assert str(writable_environment.site / "validators" / "__init__.py") in is_one_line(writable_environment, "lint", MANIFESTS)
