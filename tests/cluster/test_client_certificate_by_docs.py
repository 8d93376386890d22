"""Webhooks that demand a client certificate of the API server, by the commands and files of the page."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest
import yaml

from muster.doctor.call_failures import Failure, called_webhook
from tests.cluster.deployed import Deployed, routed_plane
from tests.cluster.installed import eventually
from tests.cluster.page_shell import Shell, section
from tests.cluster.unfit import is_refused, unfit_group
from tests.docs import pages

PAGE = pages.DOCS / "operate" / "certificates.md"
NAMESPACE, NAME = "muster-system", "muster-webhook"
DIRECTORY = "/etc/kubernetes/muster"
PROBE = "muster doctor --cluster --probe --format json"
UNNAMED = "failed to call webhook: the name of the client certificate must be one of --client-name"
DEMANDED = "it demands a client certificate (--client-ca)"


def is_closed(answer: str) -> bool:
    """Return true if the webhooks have closed the connection of the API server."""
    found = [called_webhook(line) for line in answer.splitlines()]
    return any(each is not None and each.failure is Failure.CLOSED for each in found)


@pytest.fixture(scope="module")
def plane(programs):
    with routed_plane(programs) as started:
        yield started


def test_an_api_server_without_the_certificate_is_refused_and_one_with_it_is_answered(plane, tmp_path):
    shell, checkout = Shell(plane, tmp_path), tmp_path / "checkout"
    shutil.copytree(pages.ROOT / "deploy", checkout / "deploy", ignore=shutil.ignore_patterns("certs"))
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(unfit_group("train", "default")), encoding="utf-8")
    blocks = section("Client certificate of the API server", PAGE)
    issue, install = (each.text for each in blocks if each.language == "sh")

    def answer():
        return shell("kubectl apply -f bad.yaml", tmp_path).stderr

    def is_demanded():
        """Return whether the doctor says so; a replica that has just come is not found at once."""
        return DEMANDED in shell(PROBE, checkout).stdout

    def restarted():
        """Restart the API server while no replica runs, which would miss it; return the new replica."""
        plane.restart_apiserver()
        return Deployed(plane, NAME, NAMESPACE, tmp_path)

    with Deployed(plane, NAME, NAMESPACE, tmp_path):
        shell.run("kubectl apply -k deploy/overlays/managed", checkout)
        assert eventually(lambda: is_refused(answer()))
        shell.run(issue, checkout)
        files = tmp_path / "muster"
        shutil.copytree(checkout / "client", files)
        for each in (each for each in blocks if each.title):
            (files / each.title).write_text(each.text.replace(DIRECTORY, str(files)), encoding="utf-8")

        # The webhooks come first, which the page advises against.
        shell.run(install, checkout)
        assert eventually(lambda: is_closed(answer())), answer()
        assert eventually(is_demanded), shell(PROBE, checkout).stdout

    flag = f"--admission-control-config-file={files / 'admission.yaml'}"
    plane.options = dataclasses.replace(plane.options, apiserver_flags=(*plane.options.apiserver_flags, flag))
    with restarted() as replica:
        assert eventually(lambda: is_refused(answer())), answer()
        found = shell(PROBE, checkout).stdout
        assert DEMANDED not in found
        assert "probe-failed" not in found
        assert "--client-ca=/client-ca/ca.crt" in replica.deployment["spec"]["template"]["spec"]["containers"][0]["args"]

        # Of the names in the certificate none is accepted any more.
        added = [{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--client-name=somebody"}]
        shell.run(f"kubectl patch deployment {NAME} --namespace {NAMESPACE} --type json --patch '{json.dumps(added)}'", checkout)
        assert eventually(lambda: UNNAMED in answer()), answer()
        assert eventually(lambda: Failure.CLIENT_NAME.value in shell(PROBE, checkout).stdout), shell(PROBE, checkout).stdout

    # A certificate of another CA is none.
    shell.run("muster certs issue --client --out stranger --name kube-apiserver", checkout)
    for name in ("tls.crt", "tls.key"):
        shutil.copy(checkout / "stranger" / name, files / name)
    with restarted():
        assert eventually(lambda: is_closed(answer())), answer()
        assert eventually(is_demanded), shell(PROBE, checkout).stdout
