"""``muster simulate --certificate``: the file, and that its proofs are accepted."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from muster.commands.simulate.command import simulate
from tests.scheduler_core.exact.certificate.checker import accepts
from tests.scheduler_core.oracle.test_brute import composite, leaf, members, node


@pytest.fixture
def cluster(tmp_path):
    """Two racks of two nodes, and three children that need a rack each."""
    objects = [node(f"n{number}", 2, rack=f"r{number // 2}") for number in range(4)]
    objects += [composite(3), *(leaf(f"g{number}", 3, number, "rack") for number in range(3))]
    objects += [pod for number in range(3) for pod in members(f"g{number}", 3)]
    complete = [{"apiVersion": "v1" if each["kind"] in {"Node", "Pod"} else "scheduling.k8s.io/v1alpha3", **each} for each in objects]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": complete}))
    return path, complete


def run(*arguments: object):
    return CliRunner().invoke(simulate, [str(each) for each in arguments], standalone_mode=False)


def test_what_is_written_is_accepted_by_the_checker(cluster, tmp_path):
    path, objects = cluster
    ran = run(path, "--certificate", tmp_path / "proof.json")
    (certificate,) = json.loads((tmp_path / "proof.json").read_text())["certificates"]

    assert 1 == ran.return_value
    assert {"kind": "CompositePodGroup", "namespace": "default", "name": "root"} == certificate["root"]
    assert accepts(objects, certificate)


def test_where_nothing_is_refuted_no_certificate_is_written(cluster, tmp_path):
    run(cluster[0], "--strategy", "greedy", "--certificate", tmp_path / "proof.json")

    assert {"version": 1, "certificates": []} == json.loads((tmp_path / "proof.json").read_text())


@pytest.mark.parametrize("options", [["--evict"], ["--batch"]])
def test_it_is_about_one_cycle(cluster, tmp_path, options):
    ran = run(cluster[0], "--certificate", tmp_path / "proof.json", *options)

    assert "leave out --batch and --evict" in str(ran.exception)


def test_a_file_that_cannot_be_written_is_a_wrong_call(cluster, tmp_path):
    ran = run(cluster[0], "--certificate", tmp_path / "nowhere" / "proof.json")

    assert "no such file or directory" in str(ran.exception)
