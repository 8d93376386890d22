"""Requests of a pod: the cases of component-helpers 1.37.1, computed by hand and checked against it."""

import pytest

from kubeapi.decode import ENCODER
from kubeapi.decoders import DECODERS
from kubeapi.pod_requests import LARGEST, amounts, counted, demand
from kubeapi.pods import Pod

MI = 1024**2
LEAST = (100, 200 * MI)
"""Default requests by which scores count a container without requests."""


def pod(*containers, init=(), status=None, **spec):
    content = {"spec": {"containers": list(containers), "initContainers": list(init), **spec}, "status": status or {}}
    return DECODERS[Pod].decode(ENCODER.encode(content))


def container(name="main", limits=None, policy=None, **requests):
    content = {"name": name, "resources": {"requests": {key.replace("_", "-"): each for key, each in requests.items()}}}
    if limits:
        content["resources"]["limits"] = limits
    if policy:
        content["restartPolicy"] = policy
    return content


def requests(*given, **more):
    return dict(demand(pod(*given, **more)).requests)


def test_containers_add_up():
    assert {"cpu": 1500, "memory": 3 * MI, "pods": 1} == requests(container(cpu="1", memory="2Mi"), container(cpu="500m", memory="1Mi"))


def test_a_pod_that_requests_nothing_takes_the_place_of_a_pod():
    assert (("pods", 1),) == demand(pod()).requests
    assert (("pods", 1),) == demand(pod(container(cpu="0"))).requests


def test_the_largest_init_container_counts_where_it_is_more():
    init = [container(cpu="3", memory="1Mi"), container(cpu="1", memory="5Mi")]

    assert {"cpu": 3000, "memory": 5 * MI, "pods": 1} == requests(container(cpu="2", memory="2Mi"), init=init)


def test_a_sidecar_runs_next_to_the_containers():
    assert {"cpu": 2500, "pods": 1} == requests(container(cpu="2"), init=[container(cpu="500m", policy="Always")])


@pytest.mark.parametrize(
    ("order", "cpu"),
    [pytest.param(["sidecar", "init"], 4000, id="beside it"), pytest.param(["init", "sidecar"], 3000, id="before it")],
)
def test_an_init_container_needs_capacity_with_the_sidecars_started_before_it(order, cpu):
    each = {"sidecar": container(cpu="1", policy="Always"), "init": container(cpu="3")}

    assert {"cpu": cpu, "pods": 1} == requests(container(cpu="1"), init=[each[name] for name in order])


def test_overhead_is_added():
    assert {"cpu": 1250, "memory": MI, "pods": 1} == requests(container(cpu="1"), overhead={"cpu": "250m", "memory": "1Mi"})


def test_where_only_the_limit_is_written_it_is_requested():
    limits = {"cpu": "2", "memory": "1Mi", "nvidia.com/gpu": 1}

    assert {"cpu": 1000, "memory": MI, "nvidia.com/gpu": 1, "pods": 1} == requests(container(cpu="1", limits=limits))
    assert {"cpu": 2000, "memory": MI, "nvidia.com/gpu": 1, "pods": 1} == requests(container(), init=[container(limits=limits)])


def test_fractions_of_a_unit_round_up_once_for_the_pod():
    assert {"memory": 1, "pods": 1} == requests(container(memory="400m"), container(memory="400m"))
    assert {"cpu": 2, "pods": 1} == requests(container(cpu="1u"), container(cpu="1u"))


def test_no_amount_is_more_than_can_be_reckoned_with():
    assert {"memory": LARGEST, "pods": 1} == requests(container(memory="8Ei"), container(memory="8Ei"))
    assert {"cpu": LARGEST, "pods": 1} == requests(container(cpu="8Ei"))


@pytest.mark.parametrize("amount", ["8Ei", "9Ei", "9223372036854775807", "10P"])
def test_no_node_has_the_largest_request(amount):
    assert {"memory": LARGEST - 1, "example.com/gpu": LARGEST - 1} == amounts(
        {"memory": amount, "example.com/gpu": amount}, "status.allocatable"
    )


@pytest.mark.parametrize(
    ("name", "amount"),
    [("memory", "10E"), ("memory", "9223372036854775808"), ("cpu", "1e16"), ("cpu", "8Ei"), ("example.com/gpu", 10**400)],
)
def test_a_node_with_an_amount_that_versions_count_differently_cannot_be_used(name, amount):
    with pytest.raises(ValueError, match=r"^status\.allocatable\[.*\] is too large"):
        amounts({name: amount}, "status.allocatable")


class TestPodLevel:
    def test_the_pods_own_requests_replace_those_of_its_containers(self):
        own = {"requests": {"cpu": "4", "memory": "1Mi"}}

        result = requests(container(cpu="1", memory="3Mi", ephemeral_storage="1k"), resources=own, overhead={"cpu": "1"})

        assert {"cpu": 5000, "memory": MI, "ephemeral-storage": 1000, "pods": 1} == result

    def test_what_a_pod_cannot_request_as_a_whole_is_passed_over(self):
        assert {"cpu": 1000, "pods": 1} == requests(container(cpu="1"), resources={"requests": {"nvidia.com/gpu": "8"}})

    def test_where_only_its_limit_is_written_that_is_requested(self):
        assert {"cpu": 2000, "memory": MI, "pods": 1} == requests(container(), resources={"limits": {"cpu": "2", "memory": "1Mi"}})

    def test_what_its_containers_request_goes_before_its_limit(self):
        assert {"cpu": 1000, "pods": 1} == requests(container(cpu="1"), resources={"limits": {"cpu": "2"}})

    def test_huge_pages_of_containers_are_its_own(self):
        pages = container(limits={"hugepages-2Mi": "4Mi"})

        assert {"cpu": 1000, "hugepages-2Mi": 8 * MI, "pods": 1} == requests(pages, pages, resources={"requests": {"cpu": "1"}})


class TestResize:
    """KEP-1287: the maximum of requested, allocated and actual resources."""

    STATUS = {"name": "main", "allocatedResources": {"cpu": "3"}, "resources": {"requests": {"cpu": "2"}}}

    @pytest.mark.parametrize(("cpu", "want"), [pytest.param("1", 3000, id="shrinks"), pytest.param("5", 5000, id="grows")])
    def test_the_most_counts(self, cpu, want):
        assert {"cpu": want, "pods": 1} == requests(container(cpu=cpu), status={"containerStatuses": [self.STATUS]})

    def test_what_cannot_be_granted_does_not_count(self):
        condition = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
        status = {"containerStatuses": [self.STATUS], "conditions": [condition]}

        assert {"cpu": 3000, "pods": 1} == requests(container(cpu="9"), status=status)

    def test_what_is_only_deferred_counts(self):
        condition = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
        status = {"containerStatuses": [self.STATUS], "conditions": [condition]}

        assert {"cpu": 9000, "pods": 1} == requests(container(cpu="9"), status=status)

    def test_a_sidecar_is_found_by_its_name(self):
        status = {"initContainerStatuses": [self.STATUS]}

        assert {"cpu": 4000, "pods": 1} == requests(container("app", cpu="1"), init=[container(cpu="1", policy="Always")], status=status)

    def test_what_the_pod_as_a_whole_was_granted_counts(self):
        own = {"requests": {"cpu": "1", "memory": "1"}}
        status = {"allocatedResources": {"cpu": "2"}, "resources": {"requests": {"memory": "3"}}}

        assert {"cpu": 2000, "memory": 3, "pods": 1} == requests(container(cpu="1"), resources=own, status=status)


class TestScored:
    @pytest.mark.parametrize(
        ("given", "want"),
        [
            pytest.param({"containers": []}, (0, 0), id="no container"),
            pytest.param({"containers": [container()]}, LEAST, id="one that requests nothing"),
            pytest.param({"containers": [container(), container()]}, (200, 400 * MI), id="two of them"),
            pytest.param({"containers": [container(cpu="2"), container()]}, (2100, 400 * MI), id="each resource by itself"),
            pytest.param({"containers": [container(cpu="0", memory="0")]}, (0, 0), id="a written zero is zero"),
            pytest.param({"containers": [container(cpu="50m", memory="1Mi")]}, (50, MI), id="little is not made more"),
            pytest.param({"containers": [container(cpu="50m")], "initContainers": [container()]}, LEAST, id="an init container"),
            pytest.param({"containers": [container()], "initContainers": [container(policy="Always")]}, (200, 400 * MI), id="a sidecar"),
            pytest.param({"containers": [container()], "overhead": {"cpu": "1"}}, (1100, 200 * MI), id="overhead comes on top"),
            pytest.param(
                {"containers": [container()], "resources": {"requests": {"cpu": "1"}}}, (1000, 200 * MI), id="the pod's own request"
            ),
            pytest.param(
                {"containers": [container(memory="1Mi"), container()], "resources": {"requests": {"cpu": "1"}}},
                (1000, MI),
                id="where a container of a pod with its own requests says something, nothing is made up",
            ),
        ],
    )
    def test_scores_count(self, given, want):
        spec = dict(given)

        assert want == demand(pod(*spec.pop("containers"), init=spec.pop("initContainers", ()), **spec)).scored


@pytest.mark.parametrize(
    ("given", "text"),
    [
        pytest.param({"cpu": "-1"}, r"^spec\.containers\[0\]\.resources\.requests\[cpu\] is negative: -1$", id="negative"),
        pytest.param({"cpu": "much"}, r'^spec\.containers\[0\]\.resources\.requests\[cpu\]: "much" is not a quantity', id="unreadable"),
    ],
)
def test_a_quantity_that_cannot_be_is_reported_with_its_field(given, text):
    with pytest.raises(ValueError, match=text):
        demand(pod(container(**given)))


@pytest.mark.parametrize(
    ("content", "field"),
    [
        pytest.param({"overhead": {"cpu": "x"}}, r"spec\.overhead\[cpu\]", id="overhead"),
        pytest.param({"resources": {"requests": {"cpu": "x"}}}, r"spec\.resources\.requests\[cpu\]", id="of the pod"),
        pytest.param({"init": [container(limits={"cpu": "x"})]}, r"spec\.initContainers\[0\]\.resources\.limits\[cpu\]", id="a limit"),
        pytest.param(
            {"status": {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "x"}}]}},
            "status of main, allocatedResources",
            id="what is granted",
        ),
    ],
)
def test_every_quantity_of_a_pod_is_examined(content, field):
    with pytest.raises(ValueError, match=f"^{field}"):
        demand(pod(container(), **content))


@pytest.mark.parametrize(
    ("name", "want"),
    [
        *[(name, True) for name in ("cpu", "memory", "ephemeral-storage", "pods", "hugepages-2Mi", "attachable-volumes-aws-ebs")],
        *[(name, True) for name in ("nvidia.com/gpu", "example.com/a", "kubernetes.io/batch-cpu")],
        *[(name, False) for name in ("storage", "gpu", "", "requests.nvidia.com/gpu", "a/b/c", "nvidia.com/")],
    ],
)
def test_only_resources_that_the_scheduler_knows_count(name, want):
    assert want is counted(name)


def test_amounts_of_a_node_are_millicores_and_units():
    written = {"cpu": "1500m", "memory": "1Ki", "pods": 110, "nvidia.com/gpu": "8", "unknown": "1"}

    assert {"cpu": 1500, "memory": 1024, "pods": 110, "nvidia.com/gpu": 8} == amounts(written, "status.allocatable")


def test_an_amount_of_a_node_that_cannot_be_is_reported():
    with pytest.raises(ValueError, match=r"^status\.allocatable\[cpu\] is negative: -4$"):
        amounts({"cpu": "-4"}, "status.allocatable")
