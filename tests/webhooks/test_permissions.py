"""The roles of the webhooks grant what the server requests, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from apiserver.connection import Connection
from kubeapi.versions.api_versions import CUSTOM
from tests.apiserver.fake import serving
from tests.apiserver.rights import Right, right_of, target_of
from tests.scheduler_core.sidecar.test_process import SERVED
from tests.webhooks.running import until
from tests.webhooks.test_watched import settings
from webhooks.lookup import watched

DEPLOY = Path(__file__).parents[2] / "deploy"
ROLE = next(each for each in yaml.safe_load_all((DEPLOY / "base/rbac.yaml").read_text()) if each["kind"] == "ClusterRole")
(PODS,) = (
    each["value"]
    for patch in yaml.safe_load((DEPLOY / "components/pods/kustomization.yaml").read_text())["patches"]
    for each in yaml.safe_load(patch["patch"])
    if each["path"] == "/rules/-"
)


def granted(*rules):
    return {
        Right(group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def reply(method, path, _body):
    """Serve every kind of the table without objects; a watch ends at once."""
    where, served = path.partition("?")[0], {**SERVED, f"/apis/{CUSTOM}/v1beta1": ["workloads", "podgroups", "compositepodgroups"]}
    if where in served:
        return 200, {}, {"resources": [{"name": each} for each in served[where]]}
    assert (method, True) == ("GET", target_of(path) is not None)
    return 200, {}, b"" if "watch=true" in path else {"items": [], "metadata": {"resourceVersion": "1"}}


def used(server):
    return {right_of(method, path) for method, path, *_ in [*server.requests]} - {None}


@pytest.mark.parametrize(("pods", "rules"), [(False, ROLE["rules"]), (True, [*ROLE["rules"], PODS])], ids=["groups", "pods too"])
def test_the_role_grants_what_is_requested_and_no_more(pods, rules):
    with serving(reply) as (server, api):
        source = watched.Cluster(Connection(api.host), settings(MUSTER_WATCH_PODS=str(pods).lower()))
        source.start()
        try:
            want = granted(*rules)
            assert until(lambda: want <= used(server))
            assert want == used(server)
        finally:
            for each in source.watchers:
                each.stop()
