"""A certificate of the user, by the commands of the pages: with Helm, then with kustomize, then managed in its place."""

from __future__ import annotations

import shutil

import pytest
import yaml

from tests.cluster.deployed import Deployed, routed_plane
from tests.cluster.installed import eventually
from tests.cluster.page_shell import Shell, section
from tests.cluster.unfit import is_refused, unfit_group
from tests.docs import pages

HELM, WEBHOOKS, CERTIFICATES = (pages.DOCS / "operate" / f"{name}.md" for name in ("helm", "webhooks", "certificates"))
NAMESPACE, NAME = "muster-system", "muster-webhook"


@pytest.fixture(scope="module")
def plane(programs):
    with routed_plane(programs) as started:
        yield started


def test_the_server_is_trusted_with_the_certificate_of_the_pages(plane, tmp_path):
    shell, checkout = Shell(plane, tmp_path), tmp_path / "checkout"
    shutil.copytree(pages.ROOT / "deploy", checkout / "deploy", ignore=shutil.ignore_patterns("certs"))
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(unfit_group("train", "default")), encoding="utf-8")
    (by_helm,) = (each.text for each in section("Install", HELM) if "muster certs issue" in each.text)
    (by_kustomize,) = (each.text for each in section("Install", WEBHOOKS) if "muster certs issue" in each.text)
    (managed,) = (each.text for each in section("Change the source", CERTIFICATES))

    def refuses():
        return is_refused(shell("kubectl apply -f bad.yaml", tmp_path).stderr)

    with Deployed(plane, NAME, NAMESPACE, tmp_path):
        shell.run(by_helm, checkout)
        shell.run(f"kubectl -n {NAMESPACE} rollout status deployment/{NAME}")
        assert eventually(refuses)
        shell.run(f"helm uninstall muster --namespace {NAMESPACE}")
    with Deployed(plane, NAME, NAMESPACE, tmp_path) as replica:
        shell.run(by_kustomize, checkout)
        assert eventually(refuses)
        *before, last = managed.splitlines()
        shell.run("\n".join(before), checkout)
        would_be = shell.run(f"{last} --dry-run=server -o yaml", checkout)
        assert would_be.count("caBundle: ") == would_be.count("  clientConfig:") > 0
        shell.run(last, checkout)
        assert "--certificates=managed" in replica.deployment["spec"]["template"]["spec"]["containers"][0]["args"]
        assert eventually(refuses)
