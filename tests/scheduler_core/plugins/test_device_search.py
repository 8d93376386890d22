"""The search for devices compared with all combinations, in order, on small random nodes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.sampling import sampled
from tests.scheduler_core.builders import Json, node
from tests.scheduler_core.plugins.device_objects import (
    DRIVER,
    claim_spec,
    device,
    device_class,
    device_slice,
    request,
    resource_claim,
    template,
    wanting,
)
from tests.scheduler_core.plugins.test_dynamic_resources import given as given_devices
from tests.scheduler_core.plugins.test_dynamic_resources import greedy

RANDOM = settings(
    max_examples=sampled(300), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
NUMA = f"{DRIVER}/numa"
TAINT = {"key": "broken", "effect": "NoSchedule"}
COUNTERS = {"memory": 4, "cores": 3}


@st.composite
def devices(draw: st.DrawFn) -> list[Json]:
    found = []
    for index in range(draw(st.integers(1, 5))):
        numa = draw(st.sampled_from([None, 0, 1]))
        more: Json = {"taints": [TAINT]} if draw(st.integers(0, 4)) == 0 else {}
        if draw(st.booleans()):
            used = {name: draw(st.integers(0, 3)) for name in COUNTERS}
            more["consumesCounters"] = [{"counterSet": "set", "counters": {name: {"value": str(value)} for name, value in used.items()}}]
        found.append(device(f"d{index}", {} if numa is None else {"numa": numa}, **more))
    return found


@st.composite
def claims(draw: st.DrawFn) -> list[Json]:
    """Return the specifications of the claims of a pod."""
    found = []
    for _ in range(draw(st.integers(1, 2))):
        names = ["x", "y"][: draw(st.integers(1, 2))]
        tolerations = [{"operator": "Exists"}]
        requests = [
            request(name, count=draw(st.integers(1, 2)), **({"tolerations": tolerations} if draw(st.booleans()) else {})) for name in names
        ]
        constraints = []
        if draw(st.booleans()):
            kind = draw(st.sampled_from(["matchAttribute", "distinctAttribute"]))
            constraints.append({kind: NUMA, **({"requests": ["x"]} if draw(st.booleans()) else {})})
        found.append(claim_spec(*requests, constraints=constraints))
    return found


def solutions(published: list[Json], specs: list[Json], used: set[str]) -> Iterator[list[list[str]]]:
    """Yield the devices of each claim in the order of kube-scheduler, as ``request=device``."""
    wanted = [(number, each) for number, spec in enumerate(specs) for each in spec["devices"]["requests"]]
    choices = [itertools.combinations(published, each["exactly"]["count"]) for _, each in wanted]
    for chosen in itertools.product(*map(list, choices)):
        pairs = [(number, each, one) for (number, each), group in zip(wanted, chosen, strict=True) for one in group]
        if is_valid(pairs, specs, published, used):
            of_claim: list[list[str]] = [[] for _ in specs]
            for number, each, one in pairs:
                of_claim[number].append(f"{each['name']}={one['name']}")
            yield of_claim


def is_valid(pairs: list[tuple[int, Json, Json]], specs: list[Json], published: list[Json], used: set[str]) -> bool:
    names = [one["name"] for _, _, one in pairs]
    if len(set(names)) < len(names) or used & set(names):
        return False
    if any("taints" in one and "tolerations" not in each["exactly"] for _, each, one in pairs):
        return False
    total = Counter[str]()
    consuming = [one for _, _, one in pairs if "consumesCounters" in one]
    for one in [*consuming, *(each for each in published if each["name"] in used)]:
        total.update(counters(one))
    # Counters are compared only if a chosen device consumes any.
    if consuming and any(total[name] > most for name, most in COUNTERS.items()):
        return False
    return all(
        satisfied(number, constraint, pairs) for number, spec in enumerate(specs) for constraint in spec["devices"].get("constraints", ())
    )


def counters(one: Json) -> dict[str, int]:
    return {name: int(each["value"]) for use in one.get("consumesCounters", ()) for name, each in use["counters"].items()}


def satisfied(number: int, constraint: Json, pairs: list[tuple[int, Json, Json]]) -> bool:
    requests = constraint.get("requests")
    affected = [one for claim, each, one in pairs if claim == number and (requests is None or each["name"] in requests)]
    values = [one.get("attributes", {}).get("numa", {}).get("int") for one in affected]
    if None in values:
        return False
    return len(set(values)) <= 1 if "matchAttribute" in constraint else len(set(values)) == len(values)


@RANDOM
@given(devices(), claims(), st.sets(st.integers(0, 4), max_size=2))
def test_the_first_of_all_solutions_is_found(published, specs, taken):
    used = {each["name"] for index, each in enumerate(published) if index in taken}
    objects = [
        node("n1"),
        device_class(),
        device_slice("n1", *published, count=2),
        device_slice("n1", name="counters", count=2, sharedCounters=[{"name": "set", "counters": _values()}]),
        *(resource_claim(f"used-{name}", devices=[f"gpu=n1/{name}"]) for name in sorted(used)),
    ]
    entries = []
    for number, spec in enumerate(specs):
        of_template = template(f"t{number}")
        of_template["spec"]["spec"] = spec
        objects.append(of_template)
        entries.append(f"c{number}:t{number}")
    found = given_devices(greedy([*objects, wanting("p", *entries)]))
    expected = next(solutions(published, specs, used), None)
    written = [[each.replace("n1/", "") for each in found.get(f"pod/p/c{number}", [])] for number in range(len(specs))]
    assert written == (expected or [[] for _ in specs])


def _values() -> Json:
    return {name: {"value": str(value)} for name, value in COUNTERS.items()}
