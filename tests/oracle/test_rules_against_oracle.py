"""Profile ``upstream`` reports the same errors as a simple implementation of the API server's tags, on random objects."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from tests.oracle import declarative
from tests.sampling import every, sampled
from validators import pipeline
from validators.gates import Gates
from validators.rules.base import Operation, Profile, Settings, Severity

NAMES = ["a", "b", "c", "d", "workers", "", "Bad", "x.y", "z" * 63, "z" * 64]
GATE_SETS = [
    frozenset(),
    frozenset(),
    frozenset({"PodGroupPreemptionPolicy"}),
    frozenset({"TopologyAwareWorkloadScheduling", "CompositePodGroup"}),
    frozenset({"CompositePodGroup"}),
    frozenset({"DRAWorkloadResourceClaims"}),
    frozenset({"WorkloadWithJob"}),
]


class Maker:
    """Random specs: mostly valid, with a few errors."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def name(self) -> str:
        self.count += 1
        return self.random.choice(NAMES) if self.chance(0.15) else f"t{self.count}"

    def policy(self, count: str) -> Any:
        choice = self.random.random()
        if choice < 0.05:
            return self.random.choice([{}, {"basic": {}, "gang": {count: 1}}, {"basic": {}, "gang": {}}])
        return {"basic": {}} if choice < 0.35 else {"gang": {count: self.random.choice([1, 2, 3, 4, 8] * 4 + [0, -1])}}

    def shared(self) -> dict[str, Any]:
        rule_errors: dict[str, Any] = {}
        if self.chance(0.4):
            key = self.random.choice(["rack", "zone", "example.com/rack"] * 4 + ["", "the rack", "/x", "a/b/c"])
            rule_errors["schedulingConstraints"] = {"topology": [{"key": key}] * self.random.choice([1, 1, 1, 0, 2])}
        if self.chance(0.3):
            rule_errors["disruptionMode"] = self.random.choice([{"single": {}}, {"all": {}}] * 4 + [{}, {"single": {}, "all": {}}])
        if self.chance(0.1):
            rule_errors["priorityClassName"] = self.random.choice(["high", "low", "not_a_name"])
        if self.chance(0.1):
            rule_errors["priority"] = self.random.choice([0, 7, 1_000_000_000, 1_000_000_001])
        if self.chance(0.2):
            rule_errors["preemptionPolicy"] = self.random.choice(["Never", "PreemptLowerPriority", "never", ""])
        return rule_errors

    def claims(self) -> list[dict[str, str]]:
        def one() -> dict[str, str]:
            claim = {"name": self.random.choice(["one", "two", "three", "four", "five", "Six", ""])}
            sources = [{"resourceClaimName": "c"}, {"resourceClaimTemplateName": "t"}] * 3
            return claim | self.random.choice(
                [*sources, {}, {"resourceClaimName": "c", "resourceClaimTemplateName": "t"}, {"resourceClaimName": "C_"}]
            )

        return [one() for _ in range(self.random.choice([1, 1, 2, 4, 5]))]

    def leaf(self) -> dict[str, Any]:
        rule_errors = {"name": self.name(), "schedulingPolicy": self.policy("minCount")} | self.shared()
        if self.chance(0.2):
            rule_errors["resourceClaims"] = self.claims()
        return rule_errors

    def composite(self, levels: int) -> dict[str, Any]:
        rule_errors = {"name": self.name(), "schedulingPolicy": self.policy("minGroupCount")} | self.shared()
        if levels > 1 and self.chance(0.7):
            rule_errors["compositePodGroupTemplates"] = [self.composite(levels - 1) for _ in range(self.size())]
        if self.chance(0.8):
            rule_errors["podGroupTemplates"] = [self.leaf() for _ in range(self.size())]
        return rule_errors

    def size(self) -> int:
        return self.random.choice([0, 1, 1, 2, 2, 3, 3, 9] if self.chance(0.3) else [1, 2, 3])

    def workload(self) -> dict[str, Any]:
        rule_errors: dict[str, Any] = {}
        if self.chance(0.3):
            rule_errors["controllerRef"] = {
                "apiGroup": self.random.choice(["batch", "", "batch/v1"]),
                "kind": self.random.choice(["Job", "", "a/b"]),
                "name": "x",
            }
        if self.chance(0.5):
            rule_errors["podGroupTemplates"] = [self.leaf() for _ in range(self.size())]
        if not rule_errors.get("podGroupTemplates") or self.chance(0.1):
            rule_errors["compositePodGroupTemplates"] = [self.composite(self.random.choice([1, 2, 3, 4])) for _ in range(self.size())]
        return rule_errors

    def group(self, *, leaf: bool) -> dict[str, Any]:
        rule_errors = self.leaf() if leaf else {"schedulingPolicy": self.policy("minGroupCount")} | self.shared()
        rule_errors.pop("name", None)
        rule_errors.setdefault("disruptionMode", {"single": {}})
        if self.chance(0.5):
            rule_errors["parentCompositePodGroupName"] = self.random.choice(["p", "p", "", "No_"])
        if not leaf or self.chance(0.6):
            rule_errors["workloadRef"] = {
                "workloadName": self.random.choice(["w"] * 4 + ["", "W"]),
                "templateName": self.random.choice(["t"] * 4 + ["", "t.u"]),
            }
        if not leaf and self.chance(0.05):
            del rule_errors["workloadRef"]
        return rule_errors

    def job(self) -> dict[str, Any]:
        rule_errors: dict[str, Any] = {"parallelism": self.random.choice([1, 2, 4, 8]), "template": {"spec": {}}}
        if self.chance(0.1):
            del rule_errors["parallelism"]
        if self.chance(0.85):
            scheduling = {name: value for name, value in self.shared().items() if name in {"schedulingConstraints", "disruptionMode"}}
            if self.chance(0.7):
                scheduling["schedulingPolicy"] = self.policy("minCount")
            if self.chance(0.2):
                scheduling["resourceClaims"] = self.claims()
            rule_errors["scheduling"] = scheduling
        return rule_errors

    def spec(self, kind: str) -> dict[str, Any]:
        if kind == "Job":
            return self.job()
        return self.workload() if kind == "Workload" else self.group(leaf=kind == "PodGroup")

    def changed(self, value: Any, other: Any) -> Any:
        """Return *value* with parts of *other*, without some parts, and with lists reordered."""
        if isinstance(value, dict):
            donor = other if isinstance(other, dict) else {}
            rule_errors = {name: self.changed(each, donor.get(name)) for name, each in value.items() if not self.chance(0.04)}
            rule_errors |= {name: copy.deepcopy(donor[name]) for name in sorted(donor) if self.chance(0.04)}
            return rule_errors
        if isinstance(value, list):
            items = [self.changed(each, None) for each in value if not self.chance(0.03)]
            if self.chance(0.1):
                self.random.shuffle(items)
            if isinstance(other, list) and other and self.chance(0.05):
                items.append(copy.deepcopy(self.random.choice(other)))
            return items
        if isinstance(value, int) and self.chance(0.2):
            return value + self.random.choice([-1, 1, 2])
        return value


def rule_errors(kind: str, new: dict[str, Any], old: dict[str, Any] | None, gates_off: frozenset[str]) -> set[tuple[str, str]]:
    def manifest(spec: dict[str, Any]) -> dict[str, Any]:
        return {"kind": kind, "metadata": {"name": "n", "namespace": "default"}, "spec": spec}

    settings = Settings(profile=Profile.UPSTREAM, gates=Gates(gates_off))
    judged = pipeline.validate(
        kind,
        manifest(new),
        None if old is None else manifest(old),
        Operation.CREATE if old is None else Operation.UPDATE,
        settings=settings,
    )
    return {(str(each.error.path), each.error.type.value) for each in judged if each.severity is Severity.ERROR}


def defaulted(kind: str, spec: dict[str, Any], gates_off: frozenset[str]) -> dict[str, Any]:
    if kind in {"Workload", "Job"}:
        return spec
    filled = copy.deepcopy(spec)
    if filled.get("disruptionMode") is None:
        filled["disruptionMode"] = {"single": {}}
    if filled.get("preemptionPolicy") is None and "PodGroupPreemptionPolicy" not in gates_off:
        filled["preemptionPolicy"] = "PreemptLowerPriority"
    return filled


@pytest.mark.parametrize("kind", ["Workload", "PodGroup", "CompositePodGroup", "Job"])
@pytest.mark.parametrize("block", range(8))
def test_creation(kind: str, block: int) -> None:
    for seed in every(5, range(block * 150, (block + 1) * 150)):
        spec = Maker(seed).spec(kind)

        assert declarative.expected(kind, defaulted(kind, spec, frozenset()), None) == rule_errors(kind, spec, None, frozenset()), (
            seed,
            spec,
        )


@pytest.mark.parametrize("kind", ["Workload", "PodGroup", "CompositePodGroup", "Job"])
@pytest.mark.parametrize("block", range(8))
def test_update(kind: str, block: int) -> None:
    """Old objects may be invalid: unchanged fields are ratcheted where upstream does so."""
    for seed in every(5, range(block * 150, (block + 1) * 150)):
        maker = Maker(seed)
        old, other = maker.spec(kind), maker.spec(kind)
        new = maker.changed(old, other)
        want = declarative.expected(kind, defaulted(kind, new, frozenset()), defaulted(kind, old, frozenset()))

        assert want == rule_errors(kind, new, old, frozenset()), (seed, old, new)


@pytest.mark.parametrize("kind", ["Workload", "PodGroup", "CompositePodGroup", "Job"])
@pytest.mark.parametrize("gates_off", sorted(set(GATE_SETS) - {frozenset()}, key=sorted), ids=lambda off: "+".join(sorted(off)))
@pytest.mark.parametrize("updating", [False, True], ids=["creation", "update"])
def test_gates(kind: str, gates_off: frozenset[str], updating: bool) -> None:
    """A field whose gate is off is dropped; if the old object uses it, it may stay but not change."""
    for seed in range(sampled(250)):
        maker = Maker(seed)
        old, other = maker.spec(kind), maker.spec(kind)
        new = maker.changed(old, other) if updating else other
        before = defaulted(kind, old, gates_off) if updating else None
        after = declarative.dropped(kind, defaulted(kind, new, gates_off), before, gates_off)
        want = declarative.expected(kind, after, before, gates_off)

        assert want == rule_errors(kind, new, old if updating else None, gates_off), (seed, old, new)
