"""A store fed by events is the cluster that ``load`` makes of the objects they lead to."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubeapi.names import CLUSTER_SCOPED
from kubeapi.pods import COSCHEDULING_LABEL, PLACEMENT_GATE, POD_GROUP_LABEL
from kubeapi.versions.served_versions import kind_of
from muster.render import answer_json
from muster.render.answer import Answer
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.diagnosis import fragmentation
from scheduler_core.model.names import Name
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.status import Status
from scheduler_core.plugins.profile import Profile
from scheduler_core.sidecar.cache.cache import FROM_START, RESOURCES, Cache
from scheduler_core.sidecar.cache.freshness import MAX_REMEMBERED
from scheduler_core.sidecar.scheduling.decide import decide
from tests.sampling import sampled
from tests.scheduler_core.builders import HOST, leaf, node, pod, promising
from tests.scheduler_core.sidecar import histories
from tests.scheduler_core.sidecar.histories import GroupsServer, Server, aligned, in_groups, in_other_group, told

MANY = settings(max_examples=sampled(100), deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def fed(draw, *, apart=True):
    """A server with a store that heard of it in one way or another."""
    chance = draw(st.randoms(use_true_random=False))
    objects, others = (in_groups(draw(promising(apart=apart)), chance) for _ in range(2))
    # Groups that one API group has, and some that both have, with different content.
    more = [in_other_group(each) for each in draw(promising(apart=apart)) if each["kind"] in histories.KINDS and chance.random() < 0.5]
    kept = {GroupsServer.name_of(each): each for each in (*more, *objects)}
    server = draw(histories.histories([*kept.values()], others, GroupsServer))
    store = Cache()
    events = draw(histories.deliveries(server.events))
    begun = draw(st.integers(0, len(events)))
    if begun:
        early = GroupsServer()
        for event, each in server.events[: max(0, begun - 1)]:
            name = early.name_of(each)
            early.version += 1
            if event == "DELETED":
                early.objects.pop(name, None)
            else:
                early.objects[name] = each
        early.fill(store)
    looks = draw(st.integers(1, 10))
    for number, event in enumerate(events):
        histories.feed(store, [event])
        if number % looks == 0:
            # What is kept between two looks must not show in the second.
            store.snapshot()
            store.start_cycle(CycleOptions(strategy="complete").effective_placing, frozenset()).stateful.give_back()
    return server, store


@MANY
@given(fed())
def test_store_is_what_load_makes_of_the_same_objects(case):
    server, store = case
    want = load([histories.raw(each) for each in server.objects.values()])
    got = store.snapshot()
    assert told(want) == told(got)


@MANY
@given(fed(), st.sampled_from(["complete", "greedy"]))
def test_cycle_over_a_store_decides_as_over_loaded_objects(case, strategy):
    server, store = case
    whole = store.snapshot()
    reference = aligned(load([histories.raw(each) for each in server.objects.values()]), whole)
    wanted = run_cycle(reference, CycleOptions(strategy=strategy)).decisions
    roots = [each.root for each in wanted]
    for _ in range(2):
        # The second time as the first: a cycle leaves the store as it found it.
        got = [each.decision for each in decide(store, roots, CycleOptions(strategy=strategy))]
        assert json_of(wanted) == json_of(got)


@MANY
@given(fed())
def test_controllers_see_in_a_snapshot_of_groups_what_one_of_everything_shows(case):
    _, store = case
    whole, few = store.lazy_snapshot(), store.snapshot_of_groups()
    assert [pod for pod in whole.pods if pod.group or pod.node < 0] == list(few.pods)
    wanted = fragmentation.fragments(whole)
    state = store.start_cycle(PlacingOptions(), frozenset())
    got = fragmentation.largest(state, fragmentation.levels(few), fragmentation.examples(few))
    state.stateful.give_back()
    assert wanted == got


def json_of(decisions):
    return answer_json.render(Answer.from_decisions(decisions, (), ()))


def keys(store):
    return {pod.key: store.usage.node_of(pod) for pod in store.usage.pods.pods.values()}


def full(*objects):
    """A store of these objects."""
    server = Server()
    for each in objects:
        server.put(each)
    store = Cache()
    server.fill(store)
    return server, store


def decided(store, root=Name("PodGroup", "default", "g")):  # noqa: B008 - a value
    """Return the status of a root on what *store* knows."""
    return decide(store, [root], CycleOptions())[0].decision.status


def stranger(pod, **more):
    return {**pod, "metadata": {**pod["metadata"], **more}}


def test_store_is_synced_once_every_kind_was_listed_or_is_not_served():
    store = Cache()
    *kinds, last = FROM_START
    for kind in kinds:
        assert not store.synced
        store.replace(kind, [])
    assert not store.synced
    store.mark_unserved(last)
    assert store.synced


def test_list_after_a_gap_drops_what_is_gone():
    server, store = full(node("n1"), pod("a", on="n1"), pod("b", on="n1"))
    server.delete(("Pod", "default", "a"))
    server.put(pod("c", on="n1"))
    store.replace("Pod", server.listed("Pod"), str(server.version))
    assert {"default/b": "n1", "default/c": "n1"} == keys(store)


def test_outdated_list_restores_and_deletes_nothing():
    server, store = full(node("n1"), pod("a", on="n1"))
    outdated, version = server.listed("Pod"), str(server.version)
    server.delete(("Pod", "default", "a"))
    server.put(pod("b", on="n1"))
    store.replace("Pod", server.listed("Pod"), str(server.version))
    store.replace("Pod", outdated, version)

    assert {"default/b": "n1"} == keys(store)
    assert (True, False) == tuple(store.is_complete("Pod", str(server.version + more)) for more in (0, 1))


def test_a_list_in_parts_deletes_with_its_last_part_and_is_complete_then():
    server, store = full(node("n1"), pod("a", on="n1"), pod("b", on="n1"))
    server.delete(("Pod", "default", "a"))
    server.put(pod("c", on="n1"))
    version, objects = str(server.version), server.listed("Pod")
    store.replace("Pod", objects[:1], version, last=False)
    before = keys(store), store.is_complete("Pod", version)
    store.replace("Pod", objects[1:], version, first=False)

    assert ({"default/a", "default/b"}, False) == ({*before[0]}, before[1])
    assert ({"default/b", "default/c"}, True) == ({*keys(store)}, store.is_complete("Pod", version))


def test_the_first_list_in_parts_is_listed_with_its_last_part():
    store = Cache()
    store.replace("Pod", [histories.raw(pod("a"))], "7", last=False)
    assert not store.is_listed("Pod")
    store.replace("Pod", [], "7", first=False)

    assert store.is_listed("Pod")


def test_equal_texts_of_pods_are_one_object_also_after_a_change():
    labels = {"tier": "web", "team": "x"}
    server, store = full(node("n1"), *(pod(name, on="n1", labels=labels) for name in "ab"))
    for again in (False, True):
        if again:
            server.put(pod("a", on="n1", labels=labels, priority=7))
            store.replace("Pod", server.listed("Pod"), str(server.version))
        one, other = (store.usage.pods.pods[key].parsed_pod for key in ("default/a", "default/b"))
        shared = [(getattr(one, name), getattr(other, name)) for name in ("labels", "created", "namespace", "node", "images")]

        assert [True] * len(shared) == [mine is its for mine, its in shared]
        assert (one.traits is other.traits) is not again
        assert store.usage.pods.pods["default/a"].key is one.key


@pytest.mark.parametrize(
    ("change", "same"),
    [
        pytest.param({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, True, id="health"),
        pytest.param({"status": {"startTime": "2026-08-02T00:00:00Z"}}, True, id="its start"),
        pytest.param({"metadata": {"labels": {"tier": "db"}}}, False, id="labels"),
        pytest.param({"metadata": {"deletionTimestamp": "2026-08-02T00:00:00Z"}}, False, id="deletion"),
        pytest.param({"spec": {"priority": 9}}, False, id="priority"),
        pytest.param({"spec": {"tolerations": [{"operator": "Exists"}]}}, False, id="form"),
        pytest.param({"spec": {"containers": [{"name": "c", "image": "x:2"}]}}, False, id="image"),
        pytest.param({"spec": {"nodeName": "n2"}}, False, id="node"),
        pytest.param({"status": {"nominatedNodeName": "n2"}}, False, id="nomination"),
    ],
)
def test_a_pod_on_a_node_of_which_only_the_status_changes_is_counted_once(change, same):
    server, store = full(node("n1"), node("n2"), pod("a", on="n1"))
    store.usage.placement_state()
    counted = store.usage.pods.pods["default/a"]
    record = store.usage.record(counted)
    changed = {**pod("a", on="n1"), "apiVersion": "v1"}
    server.put({**changed, **{part: {**changed.get(part, {}), **values} for part, values in change.items()}})
    _, event = server.events[-1]
    store.apply("Pod", "MODIFIED", histories.raw(event))

    assert same == (store.usage.pods.pods["default/a"] is counted)
    assert str(store.usage.pods.pods["default/a"].stamp.version) == event["metadata"]["resourceVersion"]
    assert record != store.usage.record(store.usage.pods.pods["default/a"])
    assert told(load([histories.raw(each) for each in server.objects.values()])) == told(store.snapshot())


def test_a_kind_that_is_not_listed_is_not_complete():
    store = Cache()
    before = store.is_complete("Pod", "a version without order")
    store.replace("Pod", [], "7")

    assert (False, True) == (before, store.is_complete("Pod", "a version without order"))


def test_after_a_restore_of_the_storage_lower_versions_are_accepted():
    server, store = full(node("n1"), pod("a", on="n1"))
    earlier, version = server.listed("Pod"), str(server.version)
    server.delete(("Pod", "default", "a"))
    server.put(pod("b", on="n1"))
    store.replace("Pod", server.listed("Pod"), str(server.version))
    store.forget_versions("Pod")
    store.replace("Pod", earlier, version)

    assert {"default/a": "n1"} == keys(store)
    assert (True, False) == tuple(store.is_complete("Pod", str(int(version) + more)) for more in (0, 1))


def test_event_of_an_older_pod_of_the_same_name_changes_nothing():
    server, store = full(node("n1"), pod("a", on="n1"))
    server.delete(("Pod", "default", "a"))
    server.put(pod("a"))
    histories.feed(store, server.events[-1:])
    histories.feed(store, server.events[:-1])
    assert {"default/a": ""} == keys(store)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pod_that_has_ended_frees_its_resources_and_is_counted_once(phase):
    server, store = full(node("n1"), leaf("g", 2), pod("a", "g", on="n1"))
    assert 1000 == store.usage.placement_state().requested.sums()[0, 0]
    done = pod("a", "g", on="n1")
    done["status"] = {"phase": phase}
    for _ in range(2):
        server.put(done)
        histories.feed(store, server.events[-1:])
        assert 1 == store.usage.pods.ended("default", "g")
    assert ({}, 0) == (keys(store), store.usage.placement_state().requested.sums()[0, 0])
    server.delete(("Pod", "default", "a"))
    histories.feed(store, server.events[-1:])
    assert 0 == store.usage.pods.ended("default", "g")


OTHERS = (COSCHEDULING_LABEL,)


@pytest.mark.parametrize(
    ("membership", "labels", "group", "want"),
    [
        pytest.param((), {POD_GROUP_LABEL: "mine"}, "", "mine", id="by our label"),
        pytest.param(OTHERS, {OTHERS[0]: "theirs"}, "", "theirs", id="by the label of others"),
        pytest.param(OTHERS, {OTHERS[0]: "theirs", POD_GROUP_LABEL: "mine"}, "", "mine", id="by ours before others'"),
        pytest.param(OTHERS, {POD_GROUP_LABEL: "mine", OTHERS[0]: "theirs"}, "spec", "spec", id="by the spec before any label"),
        pytest.param((), {OTHERS[0]: "theirs"}, "", "", id="not by the label of others unless asked for"),
    ],
)
def test_pod_is_a_member_by_its_spec_or_by_label(membership, labels, group, want):
    store = Cache(membership)
    store.apply("Pod", "ADDED", histories.raw(pod("a", group, labels=labels)))
    (found,) = store.usage.pods.pods.values()
    assert want == found.parsed_pod.group


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        pytest.param("Pod", b"{", id="no JSON"),
        pytest.param("Pod", b"[]", id="no object"),
        pytest.param("Pod", b'{"metadata": {}}', id="no name"),
        pytest.param("Pod", b'{"metadata": {"name": "a"}, "spec": 3}', id="a pod of another shape"),
        pytest.param("Node", b'{"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "much"}}}', id="a node of another shape"),
        pytest.param("PodGroup", b'{"metadata": {"name": "a"}, "spec": {"schedulingPolicy": 3}}', id="a group of another shape"),
        pytest.param("PriorityClass", b'{"metadata": {"name": "a"}, "value": "high"}', id="a class of another shape"),
        pytest.param("PodDisruptionBudget", b'{"metadata": {"name": "a"}, "spec": []}', id="a budget of another shape"),
        pytest.param("Workload", b'{"metadata": {"name": "a"}, "spec": []}', id="a Workload of another shape"),
    ],
)
def test_unusable_content_is_reported_and_not_raised(kind, text):
    store = Cache()
    store.apply(kind, "ADDED", text)
    store.replace(kind, [text])
    named = b"name" in text
    assert named == bool(store.problems())
    store.apply(kind, "DELETED", text)
    assert () == store.problems()


@pytest.mark.parametrize("resource", RESOURCES)
def test_an_object_whose_name_is_invalid_is_reported_and_not_raised(resource):
    store, kind = Cache(), kind_of(resource)
    text = b'{"metadata": {"name": "a/b"}}'
    store.apply(resource, "ADDED", text)
    assert [Name(kind, "" if kind in CLUSTER_SCOPED else "default", "a/b")] == [each.names[0] for each in store.problems()]
    store.apply(resource, "DELETED", text)
    assert () == store.problems()


def test_object_that_comes_to_be_unusable_is_used_no_more():
    server, store = full(node("n1"), leaf("g", 1))
    broken = leaf("g", 1, priorityClassName=5)
    server.put(broken)
    histories.feed(store, server.events[-1:])
    assert ((), 1) == (tuple(store.groups()), len(store.problems()))


def test_heartbeat_of_a_node_does_not_change_the_placement_state():
    server, store = full(node("n1"), pod("a", on="n1"))
    ground, changes = store.usage.placement_state(), store.reporter.change_count
    beat = node("n1")
    beat["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    beat["status"]["images"] = [{"names": ["x"]}]
    server.put(beat)
    histories.feed(store, server.events[-1:])
    assert (True, changes) == (store.usage.placement_state() is ground, store.reporter.change_count)


def test_declared_feature_of_a_node_changes_the_placement_state():
    server, store = full(node("n1"), leaf("g", 1), pod("g-0", "g", hostNetwork=True, hostUsers=False))
    assert Status.SUCCESS is not decided(store)
    declaring = node("n1")
    declaring["status"]["declaredFeatures"] = ["UserNamespacesHostNetworkSupport"]
    server.put(declaring)
    histories.feed(store, server.events[-1:])

    assert {"n1"} == store.reporter.pop_changes().nodes
    assert Status.SUCCESS is decided(store)


def shown(name, *images, **labels):
    """Return a node that has *images*."""
    result = node(name, **labels)
    result["status"]["images"] = [{"names": [image], "sizeBytes": 10**9} for image in images]
    return result


def wearing(name, image, **more):
    """Return a pod whose container has *image*."""
    result = pod(name, **more)
    result["spec"]["containers"][0]["image"] = image
    return result


@MANY
@given(st.data())
def test_images_are_those_that_load_finds(data):
    server, store = full(shown("n0"), shown("n1", "a:1"), wearing("p", "a:1"))
    name, image = st.sampled_from(["n0", "n1", "n2"]), st.sampled_from(["a:1", "b:1", "c:1"])
    changes = st.one_of(
        st.builds(lambda node, images, rack: shown(node, *images, rack=rack), name, st.lists(image, unique=True), st.sampled_from("xy")),
        st.builds(lambda pod, image, on: wearing(pod, image, on=on), st.sampled_from("pqr"), image, st.sampled_from(["", "n1"])),
        st.sampled_from([("Node", "", "n0"), ("Node", "", "n2"), ("Pod", "default", "q")]),
    )
    for change in data.draw(st.lists(changes, min_size=1, max_size=12)):
        if isinstance(change, dict):
            server.put(change)
        elif change in server.objects:
            server.delete(change)
        histories.feed(store, server.events[-1:])
        if not data.draw(st.booleans()):
            continue
        want, got = load([histories.raw(each) for each in server.objects.values()]), store.snapshot()
        assert {key: each.nodes.tolist() for key, each in want.nodes.reported.items()} == {
            key: each.nodes.tolist() for key, each in got.nodes.reported.items() if key in want.nodes.reported
        }
        bonuses = [[Profile(each.nodes).compile(pod.shape).bonus for pod in each.pods] for each in (want, got)]
        assert repr(bonuses[0]) == repr(bonuses[1])


def test_image_of_a_pod_changes_scores_and_that_of_no_pod_changes_nothing():
    server, store = full(node("n1"), node("n2"), wearing("a", "a:1", on="n1"), wearing("b", "a:1"))
    before, changes = store.usage.placement_state(), store.reporter.change_count
    server.put(shown("n2", "other:1"))
    histories.feed(store, server.events[-1:])
    assert {} == store.usage.placement_state().nodes.reported
    server.put(shown("n2", "other:1", "a:1"))
    histories.feed(store, server.events[-1:])
    after = store.usage.placement_state()

    assert (True, changes, ["a:1"]) == (after is before, store.reporter.change_count, [*after.nodes.reported])
    assert 1000 == after.requested.sums()[0, 0]
    assert [("a:1",)] * 2 == [each.shape.images for each in store.snapshot().pods]
    server.put(wearing("c", "other:1"))
    histories.feed(store, server.events[-1:])
    assert {"a:1", "other:1"} == {*store.usage.placement_state().nodes.reported}


def test_label_of_a_node_changes_the_placement_state_and_not_its_usage():
    server, store = full(node("n1"), pod("a", on="n1"))
    before = store.usage.placement_state()
    server.put(node("n1", rack="r9"))
    histories.feed(store, server.events[-1:])
    after = store.usage.placement_state()
    assert (True, False, ("r9",)) == (before.requested is after.requested, before is after, after.nodes.column("rack").values)
    assert 1000 == after.requested.sums()[0, 0]


def test_pod_counts_where_it_is_pinned_only_if_its_selector_says_so():
    marked = stranger(pod("a", nodeSelector={HOST: "n1"}), annotations={PLACEMENT_GATE: "n1"})
    loose = stranger(pod("b"), annotations={PLACEMENT_GATE: "n1"})
    gated = stranger(pod("c", nodeSelector={HOST: "n1"}, schedulingGates=[{"name": PLACEMENT_GATE}]), annotations={PLACEMENT_GATE: "n1"})
    gone = stranger(pod("d", nodeSelector={HOST: "n9"}), annotations={PLACEMENT_GATE: "n9"})
    _, store = full(node("n1"), marked, loose, gated, gone)
    assert {""} == set(keys(store).values()), "where nobody pins, anybody may have written the mark"
    store.usage.set_options(ungates=True)
    assert {"default/a": "n1", "default/b": "", "default/c": "", "default/d": ""} == keys(store)


def test_annotated_pod_uses_no_resources_in_modes_that_do_not_pin():
    greedy = stranger(pod("a", cpu="1000", nodeSelector={HOST: "n1"}), annotations={PLACEMENT_GATE: "n1"})
    _, store = full(node("n1"), greedy)
    sums = [int(store.usage.placement_state().requested.sums()[0, 0])]
    for ungates in (True, False):
        store.usage.set_options(ungates=ungates)
        sums.append(int(store.usage.placement_state().requested.sums()[0, 0]))
    assert [0, 1_000_000, 0] == sums


def test_what_a_pod_said_that_is_gone_binds_nobody():
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": HOST, "labelSelector": {}}]}}
    server, store = full(
        node("n1"), pod("shy", on="n1", affinity=apart), pod("other", on="n1", affinity=apart), leaf("g", 1), pod("a", "g")
    )
    root = Name("PodGroup", "default", "g")
    means = CycleOptions(strategy="complete", placing=PlacingOptions(preempt=False))
    assert Status.UNSCHEDULABLE is decide(store, [root], means)[0].decision.status
    server.delete(("Pod", "default", "shy"))
    histories.feed(store, server.events[-1:])
    assert Status.UNSCHEDULABLE is decide(store, [root], means)[0].decision.status
    late = pod("late", affinity=apart)
    server.put(late)
    server.delete(("Pod", "default", "other"))
    histories.feed(store, server.events[-2:])
    assert decide(store, [root], means)[0].events
    server.delete(("Pod", "default", "late"))
    histories.feed(store, server.events[-1:])
    (found,) = decide(store, [root], means)
    assert (Status.SUCCESS, frozenset()) == (found.decision.status, found.events)


def test_churn_leaves_nothing_behind():
    store = Cache()
    store.replace("Node", [histories.raw(node("n1"))])
    for number in range(12_000):
        made = stranger(
            pod(f"p{number}", on="n1", labels={"job": f"j{number}"}, nodeSelector={"job": f"j{number}"}),
            uid=f"u{number}",
            resourceVersion=str(2 * number + 1),
        )
        store.apply("Pod", "ADDED", histories.raw(made))
        made["metadata"]["resourceVersion"] = str(2 * number + 2)
        store.apply("Pod", "DELETED", histories.raw(made))
    standing, reader = store.usage, store._reader
    assert (0, 0) == (len(standing.pods.pods), store.counts()["Pod"])
    assert max(len(reader), len(standing._shapes), len(store._versions["Pod"]._gone)) <= MAX_REMEMBERED
    assert 0 == standing.placement_state().requested.sums().sum()
