"""``muster doctor``: options, output and exit status, in files and against a small server."""

from __future__ import annotations

import datetime as dt
import importlib.util
import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from muster import cli
from muster.commands.doctor import live_installation, live_objects
from muster.commands.doctor.diagnosis_report import report_of
from muster.doctor.control_plane import flag_command
from muster.doctor.finding import Check, error
from muster.doctor.world import Item
from tests.apiserver.fake import serving
from tests.muster.doctor import foreign_examples, worlds
from tests.muster.test_snapshot_cluster import api  # noqa: F401 - a fixture

BASE = [worlds.DEPLOY / "base" / f"{name}.yaml" for name in ("namespace", "rbac", "deployment", "service")]


NOW = dt.datetime.now(dt.UTC)
PAIR = worlds.pair(worlds.authority(at=NOW), at=NOW)


def objects_now() -> worlds.Objects:
    """Return the installation with a certificate that is valid now."""
    return worlds.objects(PAIR)


def doctor(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli.main, ["doctor", *arguments], input=stdin)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a folder with the installation in one file, without findings."""
    monkeypatch.chdir(tmp_path)
    write(*objects_now().values())
    return tmp_path


def write(*contents: worlds.Content, file: str = "all.yaml") -> None:
    Path(file).write_text("---\n".join(yaml.safe_dump(each, sort_keys=False) for each in contents), encoding="utf-8")


def write_changed(*changes: worlds.Change) -> None:
    objects = objects_now()
    for change in changes:
        change(objects)
    write(*objects.values())


@pytest.mark.usefixtures("folder")
def test_an_installation_without_findings() -> None:
    answer = doctor("all.yaml")
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert answer.stdout.startswith("not checked:\n  api-not-served: ")
    assert answer.stdout.endswith("\nno findings\n")


OF_OTHER_TOOLS = {
    "a template": ({"x/deployment.yaml": "{{- if .on }}\napiVersion: v1\nkind: Pod\n{{- end }}\n"}, "templates 1"),
    "a chart": (
        {
            "chart/Chart.yaml": "apiVersion: v2\nname: c\n",
            "chart/values.yaml": "a: 1\n",
            "chart/templates/pod.yaml": "kind: Pod\nmetadata: {name: {{ .x }}}\n",
        },
        "Helm 3",
    ),
    "templates in JSON and Jinja": (
        {"a/x.json": '{"kind": {{ .Kind }}}', "b/y.yaml": "{% for i in range(3) %}\nkind: Pod\n{% endfor %}\n"},
        "templates 2",
    ),
    "an index of charts": ({"index.yaml": "apiVersion: v1\nentries: {c: [{name: c}]}\n"}, "Helm 1"),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("texts", "tools"), OF_OTHER_TOOLS.values(), ids=OF_OTHER_TOOLS)
def test_files_of_other_tools_are_skipped_and_counted(texts: dict[str, str], tools: str) -> None:
    for name, text in texts.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    answer = doctor(".")
    number = f"{len(texts)} file{'s' if len(texts) > 1 else ''}"

    assert (0, f"muster doctor: {number} of other tools skipped ({tools}); name a file to read it\n") == (answer.exit_code, answer.stderr)
    assert "no findings" in answer.stdout


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("text", ["a: [\n", "apiVersion: v1\nkind: Pod\n\tmetadata: {}\n", "{{ x }}: [\n"])
def test_a_file_that_is_named_or_no_template_is_not_skipped(text: str) -> None:
    Path("x.yaml").write_text(text, encoding="utf-8")
    answer = doctor("all.yaml", "x.yaml") if "{{" in text else doctor(".")

    assert 2 == answer.exit_code
    assert "muster doctor: x.yaml:" in answer.stderr


@pytest.mark.usefixtures("folder")
def test_a_finding_has_its_place_and_a_command() -> None:
    write_changed(lambda objects: objects["Deployment", worlds.SERVER]["spec"].update(replicas=1))
    answer = doctor("all.yaml")
    line = next(number for number, text in enumerate(Path("all.yaml").read_text().splitlines(), 1) if text == "kind: Deployment") - 1
    first = f"all.yaml:{line}: error fail-without-replicas: Deployment muster-system/muster-webhook spec.replicas: is 1, and failurePolicy"
    assert answer.exit_code == 1
    assert answer.stdout.replace("\n  ", " ").startswith(first)
    assert "  command: kubectl -n muster-system scale deployment muster-webhook --replicas=3\n" in answer.stdout
    assert answer.stdout.endswith("\n1 error\n")
    (finding,) = json.loads(doctor("all.yaml", "--format", "json").stdout)["findings"]
    assert list(finding) == ["id", "severity", "object", "field", "message", "why", "command", "file", "line"]
    assert (finding["file"], finding["line"], finding["object"]) == ("all.yaml", line, "Deployment muster-system/muster-webhook")


@pytest.mark.usefixtures("folder")
def test_base64_has_line_breaks_as_kustomize_writes_them() -> None:
    def broken(entry: worlds.Content) -> None:
        text = entry["clientConfig"]["caBundle"]
        entry["clientConfig"]["caBundle"] = "".join(f"{text[at : at + 70]}\r\n" for at in range(0, len(text), 70))

    write_changed(worlds.in_webhooks(broken))
    answer = doctor("all.yaml")
    assert (answer.exit_code, answer.stdout.endswith("\nno findings\n")) == (0, True)


@pytest.mark.usefixtures("folder")
def test_ignored_checks_are_left_out() -> None:
    write_changed(lambda objects: objects["Deployment", worlds.SERVER]["spec"].update(replicas=1))
    answer = doctor("all.yaml", "--ignore", "fail-without-replicas", "--format=json")
    assert (answer.exit_code, json.loads(answer.stdout)["summary"]["errors"]) == (0, 0)


@pytest.mark.usefixtures("folder")
def test_standard_input() -> None:
    assert doctor("-", stdin=Path("all.yaml").read_text()).exit_code == 0


@pytest.mark.usefixtures("folder")
def test_a_part_that_cannot_be_read_is_status_2() -> None:
    Path("bad.yaml").write_text("kind: [", encoding="utf-8")
    answer = doctor("all.yaml", "bad.yaml")
    assert (answer.exit_code, "no findings" in answer.stdout) == (2, True)
    assert answer.stderr.startswith("muster doctor: bad.yaml:1:")


@pytest.mark.usefixtures("folder")
def test_an_object_in_two_files_is_reported() -> None:
    write(*(each for key, each in objects_now().items() if key[0] == "Service"), file="b.yaml")
    answer = doctor("all.yaml", "b.yaml")
    assert answer.exit_code == 2
    assert "b.yaml:1: Service muster-system/muster-webhook is also in all.yaml:" in answer.stderr


@pytest.mark.usefixtures("folder")
def test_an_object_in_two_api_groups_is_no_duplicate() -> None:
    """Whichever comes first in the files: the built-in one counts."""
    groups = [group_of(version) for version in ("scheduling.muster.dev/v1beta1", "scheduling.k8s.io/v1beta1")]
    for number, order in enumerate((groups, groups[::-1])):
        write(*order, file="groups.yaml")
        answer = doctor("all.yaml", "groups.yaml", "--format=json")
        assert (answer.exit_code, answer.stderr) == (1, "")
        (finding,) = json.loads(answer.stdout)["findings"]
        assert (finding["id"], finding["object"], finding["line"]) == ("object-ignored", "PodGroup research/train", [1, 9][number])
        assert finding["command"] == "muster migrate --cluster"


def group_of(api_version: str) -> worlds.Content:
    metadata = {"name": "train", "namespace": "research"}
    return {"apiVersion": api_version, "kind": "PodGroup", "metadata": metadata, "spec": {"schedulingPolicy": {}}}


MISTAKES = {
    (): "give PATH or --cluster",
    ("--cluster", "all.yaml"): "give PATH or --cluster, not both",
    ("nowhere",): "nowhere",
    ("--replica", "h:1", "all.yaml"): "--replica need --cluster",
    ("--cluster", "--replica", "h"): "--replica must be HOST:PORT: 'h'",
    ("--ignore", "self-loc", "all.yaml"): "there is no check 'self-loc'; did you mean",
    ("--metrics", "nowhere", "all.yaml"): "--metrics nowhere: cannot be read: No such file",
    ("--metrics", "all.yaml", "all.yaml"): "--metrics all.yaml: has no muster_review_duration_seconds",
    ("--metrics", "http://127.0.0.1:1/", "all.yaml"): "--metrics http://127.0.0.1:1/: cannot be read",
    ("--probe", "all.yaml"): "--probe needs --cluster",
    ("--cluster", "--probe-namespace=x"): "--probe-namespace needs --probe",
    ("other.yaml",): "there is no webhook configuration, webhook server or sidecar of Muster in other.yaml",
    ("--cluster", "--kubeconfig", "nowhere"): "nowhere",
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("arguments", MISTAKES)
def test_mistakes_are_one_line_and_status_2(arguments: tuple[str, ...]) -> None:
    write({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}, file="other.yaml")
    answer = doctor(*arguments)
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert MISTAKES[arguments] in answer.stderr
    assert answer.stderr.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_checks_are_completed() -> None:
    from muster.commands.doctor.command import doctor as command

    (option,) = (each for each in command.params if each.name == "ignore")
    assert [each.value for each in option.shell_complete(None, "leaf-n")] == ["leaf-names"]  # type: ignore[arg-type]


def listed(kind: str, *items: worlds.Content) -> tuple[str, str, list[worlds.Content]]:
    return items[0]["apiVersion"] if items else "v1", f"{kind}List", list(items)


def serve(server, objects: worlds.Objects) -> None:
    """Let the server answer with *objects*, as an API server that serves no group of ``scheduling.k8s.io``."""
    by_kind: dict[str, list[worlds.Content]] = {}
    for (kind, _), each in objects.items():
        by_kind.setdefault(kind, []).append(each)
    own = f"namespaces/{worlds.NAMESPACE}"
    paths = {
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies": "ValidatingAdmissionPolicy",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": "ValidatingAdmissionPolicyBinding",
        "/apis/apps/v1/deployments": "Deployment",
        "/apis/apps/v1/statefulsets": "StatefulSet",
        f"/apis/apps/v1/{own}/deployments": "Deployment",
        f"/apis/apps/v1/{own}/statefulsets": "StatefulSet",
        f"/apis/policy/v1/{own}/poddisruptionbudgets": "PodDisruptionBudget",
        f"/apis/networking.k8s.io/v1/{own}/networkpolicies": "NetworkPolicy",
        f"/apis/discovery.k8s.io/v1/{own}/endpointslices": "EndpointSlice",
        "/api/v1/namespaces/kube-system/pods": "Pod",
        "/api/v1/pods": "Pod",
    }
    server.lists = {path: listed(kind, *by_kind.get(kind, ())) for path, kind in paths.items()}
    server.lists[f"/api/v1/{own}/pods"] = listed("Pod", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "webhook-a"}})
    server.answers = {
        "/version": {"major": "1", "minor": "37"},
        "/api/v1/namespaces/muster-system": objects["Namespace", worlds.NAMESPACE],
        f"/api/v1/{own}/services/muster-webhook": objects["Service", worlds.SERVER],
        "/api/v1/namespaces/kube-system": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}},
        f"/api/v1/{own}/secrets/muster-webhook-tls": objects["Secret", "muster-webhook-tls"],
    }


def live(*arguments: str) -> Result:
    return doctor("--cluster", "--kubeconfig", "config", *arguments)


@pytest.fixture
def server(api):  # noqa: F811 - the fixture above
    objects = objects_now()
    del objects["Deployment", "muster-sidecar"]
    objects["Deployment", worlds.SERVER]["spec"]["template"]["spec"]["containers"][0]["args"].remove("--cluster")
    serve(api, objects)
    return api


@pytest.mark.parametrize(
    ("absent", "want"),
    [({"gunicorn", "numpy"}, "[webhooks,sidecar]"), ({"numpy"}, "[sidecar]"), ({"gunicorn"}, "[webhooks]")],
)
def test_all_missing_extras_are_named_at_once(monkeypatch: pytest.MonkeyPatch, absent: set[str], want: str) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in absent else real(name))
    answer = live()
    assert answer.exit_code != 0
    assert answer.stderr.endswith(f"not installed: pip install 'muster-scheduling{want}' (in a checkout: pip install '.{want}')\n")


@pytest.mark.usefixtures("server")
def test_durations_are_read_from_every_replica(monkeypatch: pytest.MonkeyPatch) -> None:
    """By port-forwarding, which tests/cluster does; one that cannot be read is named."""
    text = (
        'muster_review_duration_seconds_bucket{path="/mutate",le="5"} 200\n' * 2
        + 'muster_review_duration_seconds_bucket{path="/mutate",le="+Inf"} 400\n'
    )
    answers = {("muster-system", "webhook-a", 8080, "/metrics"): (200, text.encode())}
    monkeypatch.setattr(live_installation, "read_of_pod", lambda _, *asked: answers.get(asked, (404, b"{}")))
    chosen = ("--format=json", "--ignore=leaf-expiry", "--ignore=ca-expiry", "--ignore=api-not-served")
    found = json.loads(live(*chosen).stdout)
    assert [each["id"] for each in found["findings"]] == ["timeout-exceeded"]
    assert "reviews of /mutate is 4.95 s (pod webhook-a)" in found["findings"][0]["message"]
    answers.clear()
    reasons = [each["reason"] for each in json.loads(live(*chosen).stdout)["unchecked"]]
    assert "the durations of reviews cannot be read of pod webhook-a: HTTP 404: ; give --metrics" in reasons


def test_no_private_key_is_kept(server, monkeypatch: pytest.MonkeyPatch) -> None:
    from muster.doctor import checks
    from muster.doctor.world import World

    server.answers["/api/v1/namespaces/muster-system/secrets/muster-webhook-tls"]["data"]["tls.key"] = "c2VjcmV0"
    seen: list[World] = []
    monkeypatch.setattr(checks, "examine", lambda world: seen.append(world) or ())
    live()
    (secret,) = seen[0].of_kind("Secret")
    assert secret.content["data"].keys() == {"ca.crt", "tls.crt"}


BOTH = ("scheduling.k8s.io/v1beta1", "scheduling.muster.dev/v1beta1")


def serve_groups(server, *custom: worlds.Content) -> None:
    """Serve PodGroups in both API groups: a built-in one, and *custom*."""
    for each, items in zip(BOTH, ([group_of(BOTH[0])], custom), strict=True):
        group, version = each.split("/")
        server.answers[f"/apis/{group}"] = {"versions": [{"version": version}]}
        server.answers[f"/apis/{each}"] = {"resources": [{"name": "podgroups"}]}
        server.lists[f"/apis/{each}/podgroups"] = (
            each,
            "PodGroupList",
            [{"metadata": one["metadata"], "spec": one["spec"]} for one in items],
        )


def test_a_custom_resource_of_the_name_of_a_built_in_object_is_found(server) -> None:
    other = group_of(BOTH[1])
    serve_groups(server, {**other, "metadata": {**other["metadata"], "name": "alone"}})
    assert "object-ignored" not in {each["id"] for each in json.loads(live("--format=json").stdout)["findings"]}
    serve_groups(server, {**other, "metadata": {**other["metadata"], "name": "alone"}}, other)
    answer = live("--format=json")
    (finding,) = (each for each in json.loads(answer.stdout)["findings"] if each["id"] == "object-ignored")
    assert finding["object"] == "PodGroup research/train"
    assert finding["message"].startswith(
        "is ignored: it is of scheduling.muster.dev, and PodGroup research/train of scheduling.k8s.io counts"
    )
    assert finding["command"] == "muster migrate --cluster --kubeconfig=config"


def test_groups_that_cannot_be_listed_are_not_taken_for_absent(server) -> None:
    serve_groups(server, group_of(BOTH[1]))
    server.broken[f"/apis/{BOTH[1]}/podgroups"] = 403, {"message": "no"}
    answer = live("--format=json")
    assert answer.exit_code == 2
    assert answer.stderr.endswith("podgroups: cannot be listed: HTTP 403: no\n")
    unchecked = {each["id"]: each["reason"] for each in json.loads(answer.stdout)["unchecked"]}
    assert unchecked["object-ignored"] == "the podgroups of the API groups could not be read"


def test_a_list_that_is_forbidden_is_status_2(server) -> None:
    server.broken["/apis/policy/v1/namespaces/muster-system/poddisruptionbudgets"] = 403, {"message": "no"}
    answer = live("--format=json")
    assert answer.exit_code == 2
    assert answer.stderr.endswith("poddisruptionbudgets: cannot be listed: HTTP 403: no\n")
    assert json.loads(answer.stdout)["summary"]["problems"] == 1


def test_the_first_refusal_of_a_kind_is_the_only_one(server) -> None:
    """Each webhook of another program has a server of its own."""
    names = [f"s{number}" for number in range(3)]
    webhooks = [
        foreign_examples.webhook(foreign_examples.PODS, name=f"{each}.example", clientConfig={"service": {"namespace": "x", "name": each}})
        for each in names
    ]
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "x"}}
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    version, kind, items = server.lists[path]
    server.lists[path] = version, kind, [*items, {**head, "webhooks": webhooks}]
    for resource in ("deployments", "statefulsets"):
        server.lists[f"/apis/apps/v1/namespaces/x/{resource}"] = listed("Deployment")
    refused = {
        **{f"/api/v1/namespaces/x/services/{each}": "services" for each in names},
        "/apis/discovery.k8s.io/v1/namespaces/x/endpointslices": "endpointslices",
    }
    for each, resource in refused.items():
        server.broken[each] = 403, {"message": f"no {resource}"}
    answer = live("--format=json")
    assert answer.exit_code == 2
    assert [each.partition("no ")[2] for each in answer.stderr.splitlines()] == ["services", "endpointslices"]
    reasons = [each["reason"] for each in json.loads(answer.stdout)["unchecked"] if each["id"] == "foreign-unreachable"]
    assert reasons == [f"the Service x/{each} of {each}.example of ValidatingWebhookConfiguration x cannot be read" for each in names]


def test_the_server_of_a_webhook_that_selects_only_its_own_pods_is_read(server) -> None:
    """Nothing else shows that the webhook matters."""
    name, namespace = foreign_examples.POLICY, foreign_examples.NAMESPACE
    selector = {"matchLabels": {"tier": "admission"}}
    content = foreign_examples.webhook(foreign_examples.PODS, namespaceSelector={}, objectSelector=selector)
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": name}}
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    version, kind, items = server.lists[path]
    server.lists[path] = version, kind, [*items, {**head, "webhooks": [content]}]
    by_kind = {each["kind"]: each for each in foreign_examples.server() if each["metadata"]["name"] == name}
    server.lists[f"/apis/apps/v1/namespaces/{namespace}/deployments"] = listed("Deployment", by_kind["Deployment"])
    server.lists[f"/apis/apps/v1/namespaces/{namespace}/statefulsets"] = listed("StatefulSet")
    server.lists[f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"] = listed("EndpointSlice", by_kind["EndpointSlice"])
    server.answers[f"/api/v1/namespaces/{namespace}/services/{name}"] = by_kind["Service"]
    findings = json.loads(live("--format=json").stdout)["findings"]
    assert [each["id"] for each in findings if each["id"].startswith("foreign-")] == ["foreign-self-lock"]


def test_configurations_are_needed(server) -> None:
    server.broken["/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"] = 403, {"message": "no"}
    answer = live()
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert "validatingwebhookconfigurations cannot be listed: HTTP 403: no" in answer.stderr


COMMANDS = {
    "kubectl -n x get pods": "kubectl --kubeconfig=c --context=k -n x get pods",
    "cmctl check api && kubectl logs x": "cmctl --kubeconfig=c --context=k check api && kubectl --kubeconfig=c --context=k logs x",
    "helm template a b '--set=c={d,e}' | kubectl apply -f -": "helm template a b '--set=c={d,e}' | "
    "kubectl --kubeconfig=c --context=k apply -f -",
    "helm upgrade a b": "helm upgrade a b --kubeconfig=c --kube-context=k",
    "muster certs rotate --ca": "muster certs rotate --ca --kubeconfig=c --context=k --replica=h:1",
    flag_command("kube-apiserver", "--x=true"): flag_command("kube-apiserver", "--x=true"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_reach_the_cluster(command: str) -> None:
    check = Check(id="x", why="", examine=lambda _: ())
    report = report_of([(check, error(Item({}), "", "", command))], [], [])
    ((_, unchanged),) = report.reaching([], []).defects
    ((_, changed),) = report.reaching(["--kubeconfig=c", "--context=k"], ["h:1"]).defects
    assert (unchanged.command, changed.command) == (command, COMMANDS[command])


def test_apis_that_may_not_be_discovered_are_reported_before_an_upgrade() -> None:
    def answer(_method: str, path: str, _body: bytes) -> tuple[int, dict[str, str], object]:
        return (403, {}, {"message": "forbidden"}) if path.startswith("/apis/batch") else (404, {}, {})

    with serving(answer) as (_, reached):
        objects = live_objects.LiveObjects(reached)
        live_installation.keep_stored(objects)

    assert [each.place for each in objects.problems] == ["jobs", "cronjobs"]
