"""``--scheduler-config`` of simulate and snapshot."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import scheduler_core
from muster import cli
from muster.commands.progress import Progress
from muster.commands.simulate import simulation
from muster.commands.simulate.completed_input import ClusterInput
from muster.commands.simulate.request import SimulationRequest, with_values
from muster.commands.simulate.simulation_options import GATES, SCHEDULER_CONFIG
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, KUBERNETES_1_38
from scheduler_core.model.placement_options import KUBERNETES
from tests.muster.test_sidecar import invoke, kubeconfig, started
from tests.scheduler_core.builders import node, pod
from validators.gates import COMPOSITE, TOPOLOGY

__all__ = ["kubeconfig", "started"]

CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 50
extenders:
- urlPrefix: https://extender.example
  filterVerb: filter
profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      disabled:
      - name: NodeResourcesBalancedAllocation
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions:
            - {key: pool, operator: In, values: [secret-pool]}
  - name: Coscheduling
    args: {token: secret}
"""
OBJECTS = [
    node("n1", pool="secret-pool"),
    node("n2", pool="secret-pool"),
    node("n3", pool="other"),
    pod("old", cpu="1", on="n2"),
    pod("new"),
    pod("foreign", schedulerName="volcano"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.json").write_text("\n".join(map(json.dumps, OBJECTS)), encoding="utf-8")
    (tmp_path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    return tmp_path


def muster(*arguments, stdin=b""):
    return CliRunner().invoke(cli.main, arguments, input=stdin)


def placed(answer):
    return {pod_: where for each in json.loads(answer.stdout)["decisions"] for pod_, where in each["assignments"].items()}


def test_simulate_places_by_the_profile_and_reports_what_is_not_modelled():
    answer = muster("simulate", "cluster.json", "--scheduler-config", "config.yaml", "--format", "json")

    assert placed(answer) == {"default/new": "n2"}
    assert answer.exit_code == 0
    assert [each["message"] for each in json.loads(answer.stdout)["problems"]] == [
        "extenders: extenders are not called: not modelled",
        "profiles[0].pluginConfig[2]: arguments of Coscheduling are not modelled",
    ]
    assert placed(muster("simulate", "cluster.json", "--format", "json"))["default/new"] != "n2"


PART = (
    "every feasible node is scored; of 300 nodes kube-scheduler scores {} feasible ones, which depend on timing; "
    "a domain of up to 100 nodes is scored whole"
)


@pytest.mark.parametrize("option", [["--scheduler-config", "percentage.yaml"], ["percentage.yaml"]], ids=["option", "input"])
def test_a_percentage_is_reported_for_more_than_100_nodes(folder, option):
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    (folder / "many.json").write_text("\n".join(json.dumps(node(f"m{number}")) for number in range(297)), encoding="utf-8")

    def reported(text, *arguments):
        (folder / "percentage.yaml").write_text(head + text, encoding="utf-8")
        answer = json.loads(muster("simulate", "cluster.json", *arguments, *option, "--format", "json").stdout)
        return [(key, each["object"], each["message"]) for key in ("problems", "notes") for each in answer.get(key, ())]

    half = ("problems", "KubeSchedulerConfiguration", "percentageOfNodesToScore: " + PART.format(150))
    default = ("notes", "kube-scheduler", PART.format(144))
    greedy = ["many.json", "--strategy", "greedy"]
    assert [half] == reported("percentageOfNodesToScore: 50", "many.json") == reported("percentageOfNodesToScore: 50", *greedy)
    assert [default] == reported("", *greedy)
    assert [] == reported("", "many.json") == reported("percentageOfNodesToScore: 100", *greedy) == reported("percentageOfNodesToScore: 50")


def test_a_configuration_among_the_inputs_is_used_unless_the_option_names_another(folder):
    (folder / "other.yaml").write_text(CONFIG.replace("MostAllocated", "LeastAllocated"), encoding="utf-8")

    assert placed(muster("simulate", "cluster.json", "config.yaml", "--format", "json")) == {"default/new": "n2"}
    answer = muster("simulate", "cluster.json", "config.yaml", "--scheduler-config", "other.yaml", "--format", "json")
    assert placed(answer) == {"default/new": "n1"}


@pytest.mark.parametrize("redact", [[], ["--redact"]], ids=["plain", "redacted"])
def test_a_snapshot_keeps_the_configuration_and_simulates_as_the_inputs_do(redact):
    written = muster("snapshot", "cluster.json", "--scheduler-config", "config.yaml", *redact)
    replayed = muster("simulate", "-", "--format", "json", stdin=written.stdout_bytes)
    given = muster("simulate", "cluster.json", "--scheduler-config", "config.yaml", "--format", "json")

    assert (written.exit_code, written.stderr) == (0, "")
    if redact:
        # The node with the pod that runs, whatever its name is now.
        items = json.loads(written.stdout)["items"]
        (node_name,) = [each["spec"]["nodeName"] for each in items if each["kind"] == "Pod" and "nodeName" in each["spec"]]
        assert [*placed(replayed).values()] == [node_name]
        assert "secret" not in written.stdout
    else:
        assert given.stdout == replayed.stdout
        assert "token" not in written.stdout
    assert "extender.example" not in written.stdout
    assert json.loads(given.stdout)["problems"] == json.loads(replayed.stdout)["problems"]


@pytest.mark.parametrize("command", ["simulate", "snapshot"])
@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            CONFIG.replace("MostAllocated", "Most"),
            'wrong.yaml:17: profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: "Most": supported values: '
            '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
            id="value",
        ),
        pytest.param(
            CONFIG.replace("percentageOf", "percentOf"), "wrong.yaml:3: percentOfNodesToScore: Forbidden: unknown field", id="field"
        ),
        pytest.param(
            CONFIG.replace("config.k8s.io/v1", "config.k8s.io/v1beta3"), "wrong.yaml:1: apiVersion: Unsupported value", id="version"
        ),
        pytest.param("a: [", "wrong.yaml:1: ", id="not YAML"),
        pytest.param("", "wrong.yaml", id="nothing"),
        pytest.param(f"{CONFIG}---\n{CONFIG}", "wrong.yaml: must be one KubeSchedulerConfiguration, not 2 objects", id="two"),
    ],
)
def test_a_wrong_file_is_one_line_with_file_line_and_field(folder, command, text, want):
    (folder / "wrong.yaml").write_text(text, encoding="utf-8")
    answer = muster(command, "cluster.json", "--scheduler-config", "wrong.yaml")

    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr.count("\n") == 1
    assert f"--scheduler-config {want}" in answer.stderr


def test_a_missing_file_and_a_name_without_profile_are_mistakes():
    missing = muster("simulate", "cluster.json", "--scheduler-config", "none.yaml")
    assert (missing.exit_code, missing.stdout) == (2, "")
    assert "--scheduler-config none.yaml: no such file or directory" in missing.stderr
    nobody = muster("simulate", "cluster.json", "--scheduler-config", "config.yaml", "--scheduler-name", "volcano")
    assert (nobody.exit_code, nobody.stdout) == (2, "")
    assert "no profile 'volcano'; its profiles are default-scheduler" in nobody.stderr


def test_a_snapshot_leaves_out_a_configuration_with_errors(folder):
    (folder / "wrong.yaml").write_text(CONFIG.replace("MostAllocated", "Most"), encoding="utf-8")
    written = muster("snapshot", "cluster.json", "wrong.yaml")

    assert written.exit_code == 2
    assert "KubeSchedulerConfiguration: profiles[0].pluginConfig[0].args.scoringStrategy.type: " in written.stderr
    assert '"KubeSchedulerConfiguration"' not in written.stdout


def test_a_line_of_a_batch_can_have_a_configuration():
    most = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    fit = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
    good, bad = {**most, "profiles": [{"pluginConfig": [fit]}]}, {**most, "parallelism": 0}
    lines = [{"objects": OBJECTS[:5], "options": {"schedulerConfig": each}} for each in (good, bad, "a.yaml")]
    answer = muster("simulate", "--batch", "-", stdin="\n".join(map(json.dumps, lines)).encode())
    first, second, third = map(json.loads, answer.stdout.splitlines())

    assert first["decisions"][0]["assignments"] == {"default/new": "n2"}
    assert second["error"] == "option schedulerConfig: parallelism: Invalid value: 0: should be an integer value greater than zero"
    assert third["error"] == "option schedulerConfig: must be a KubeSchedulerConfiguration"


def test_the_library_takes_a_configuration():
    most = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "percentageOfNodesToScore": 1}
    result = scheduler_core.simulate([*OBJECTS, *(node(f"m{number}") for number in range(98))], scheduler_config=most)

    assert [str(each.root.name) for each in result.decisions] == ["new"]
    assert [each.object for each in result.problems] == ["KubeSchedulerConfiguration"]
    with pytest.raises(ValueError, match="scheduler_config: apiVersion: Unsupported value"):
        scheduler_core.simulate(OBJECTS, scheduler_config={})


@pytest.mark.parametrize(
    ("name", "status"), [pytest.param("default-scheduler", 0, id="with a profile"), pytest.param("muster", 2, id="without")]
)
def test_the_sidecar_uses_the_profile_of_its_scheduler_name(started, kubeconfig, name, status):
    for more, environment in ((("--scheduler-config", "config.yaml"), {}), ((), {"MUSTER_SCHEDULER_CONFIG": "config.yaml"})):
        answer = invoke("--kubeconfig", kubeconfig, "--scheduler-name", name, *more, **environment)
        assert answer.exit_code == status
        if status:
            assert "there is no profile for --scheduler-name muster; the profiles are default-scheduler" in answer.stderr
    assert [each[1].scheduler_config.profiles.profile(name).strategy.kind for each in started] == ["MostAllocated"] * (2 - status)


def test_the_sidecar_does_not_start_with_a_wrong_file(folder, started, kubeconfig):
    (folder / "wrong.yaml").write_text(CONFIG.replace("MostAllocated", "Most"), encoding="utf-8")
    answer = invoke("--kubeconfig", kubeconfig, "--scheduler-config", "wrong.yaml")

    assert (answer.exit_code, started) == (2, [])
    assert "--scheduler-config wrong.yaml:17: profiles[0].pluginConfig[0].args.scoringStrategy.type: " in answer.stderr


def test_only_the_beginning_of_a_file_without_end_is_read(monkeypatch):
    monkeypatch.setattr("validators.lint.limits.LARGEST_FILE", 1000)
    monkeypatch.setattr("validators.lint.documents.LARGEST_FILE", 1000)
    result = CliRunner().invoke(cli.main, ["simulate", "cluster.json", "--scheduler-config", "/dev/zero"])

    assert 2 == result.exit_code
    assert "--scheduler-config /dev/zero:1: must be at most 1,000 bytes" in result.stderr


PLACEMENTS = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "percentageOfPlacementsToScore": 50}


@pytest.mark.parametrize(
    ("cluster", "given", "read"),
    [
        pytest.param(KUBERNETES_1_38, None, 50, id="of the cluster"),
        pytest.param(None, KUBERNETES_1_38, 50, id="given"),
        pytest.param(KUBERNETES_1_37, KUBERNETES_1_38, 50, id="given for another cluster"),
        pytest.param(KUBERNETES_1_37, None, None, id="of an older cluster"),
        pytest.param(None, None, None, id="the default"),
    ],
)
def test_the_configuration_is_read_by_the_version_of_the_cluster(cluster, given, read):
    values = {SCHEDULER_CONFIG: PLACEMENTS} | ({KUBERNETES: given} if given else {})
    request = with_values(SimulationRequest(), values)
    inputs = ClusterInput([*map(json.dumps, OBJECTS)], behavior=cluster)

    if read is None:
        with pytest.raises(
            simulation.RefusedRequestError, match=r"kube-scheduler 1\.37 does not start with it: percentageOfPlacementsToScore"
        ):
            simulation.run(inputs, request, Progress())
    else:
        _, snapshot = simulation.run(inputs, request, Progress())
        assert read == snapshot.profiles.profile("default-scheduler").percentage_of_placements


@pytest.mark.parametrize("listed", [False, True], ids=["global", "of a profile"])
def test_a_percentage_of_placements_needs_topology_aware_scheduling(listed):
    header = {key: PLACEMENTS[key] for key in ("apiVersion", "kind")}
    written = {**header, "profiles": [{"percentageOfPlacementsToScore": 50}]} if listed else PLACEMENTS
    values = {SCHEDULER_CONFIG: written, KUBERNETES: KUBERNETES_1_38, GATES: {TOPOLOGY: False, COMPOSITE: False}}
    at = r"profiles\[0\]\." if listed else ""
    stated = f"kube-scheduler 1\\.38 does not start with it: {at}percentageOfPlacementsToScore: .* requires {TOPOLOGY} feature gate"
    with pytest.raises(simulation.RefusedRequestError, match=stated):
        simulation.run(ClusterInput([*OBJECTS]), with_values(SimulationRequest(), values), Progress())


def test_a_configuration_of_the_cluster_with_a_percentage_of_placements_is_left_out_without_topology_aware_scheduling():
    inputs = ClusterInput([*OBJECTS, PLACEMENTS], behavior=KUBERNETES_1_38)
    request = with_values(SimulationRequest(), {GATES: {TOPOLOGY: False, COMPOSITE: False}})
    for each, percentage in ((SimulationRequest(), 50), (request, 0)):
        _, snapshot = simulation.run(inputs, each, Progress())
        assert percentage == snapshot.profiles.profile("default-scheduler").percentage_of_placements
