"""Clusters for the tests of pages, what is decided on them, and a reader of the HTML."""

from __future__ import annotations

import dataclasses
import json
from html.parser import HTMLParser

from muster.html import page
from muster.html.page_data import Case
from muster.render.answer import Answer
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from tests import builders

ZONE, RACK, GPU = "topology.kubernetes.io/zone", "topology.example/rack", "nvidia.com/gpu"
NO_CLOSING_TAG = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta"})


def machine(name, cpu="4", memory="16Gi", *, gpus=0, taint="", cordoned=False, labels=None):
    taints = [{"key": taint, "value": "yes", "effect": "NoSchedule"}] if taint else []
    return builders.node(name, cpu, memory, resources={GPU: gpus or ""}, labels=labels, taints=taints, unschedulable=cordoned)


def member(name, group="", *, on="", cpu="1", gpus=0, priority=0, **spec):
    made = builders.pod(name, group, cpu, on=on, resources={GPU: gpus or ""}, priority=priority, **spec)
    for container in made["spec"]["containers"]:
        container["resources"]["limits"] = container["resources"]["requests"]
    return made


def group(name, minimum, *, key="", parent="", kind="PodGroup", priority=0):
    return builders.group(kind, name, minimum, key, parent, priority=priority)


def gang(name, pods, *, minimum=0, **more):
    """A PodGroup with its pending pods; the words of a pod go to the pods, all others to the group, the priority to both."""
    of_pods = {word: more.pop(word) for word in ("cpu", "gpus") if word in more} | {"priority": more.get("priority", 0)}
    return [group(name, minimum or pods, **more), *(member(f"{name}-{number}", name, **of_pods) for number in range(pods))]


def racks(*numbers, zone="z1", **more):
    """So many machines in each rack: r1-1, r1-2, ..."""
    return [
        machine(f"r{rack}-{number}", labels={ZONE: zone, RACK: f"r{rack}"}, **more)
        for rack, count in enumerate(numbers, 1)
        for number in range(1, count + 1)
    ]


def many_gpus():
    """20 devices are free, and a gang that needs 16 of them in one rack waits: r1 has 8, r2 has 12, of which 8 are tainted."""
    there = [*racks(2, 2, gpus=8), machine("r2-3", gpus=8, taint="maintenance", labels={ZONE: "z1", RACK: "r2"})]
    running = [member("one", on="r1-1", gpus=8, cpu="2"), member("two", on="r2-1", gpus=8, cpu="2"), member("three", on="r2-2", gpus=4)]
    return [*there, *running, *gang("job", 4, gpus=4, key=RACK)]


def placed_tree():
    """A tree in two racks of one zone, and a rack that stays empty."""
    return [
        *racks(2, 2, cpu="2"),
        machine("other", labels={ZONE: "z2", RACK: "r9"}),
        group("train", 2, key=ZONE, kind="CompositePodGroup"),
        *gang("a", 4, key=RACK, parent="train"),
        *gang("b", 4, key=RACK, parent="train"),
    ]


def evicting():
    """A gang for which a pod must leave."""
    return [
        *racks(1, cpu="4"),
        member("stays", on="r1-1", cpu="1", priority=1000),
        member("leaves", on="r1-1", cpu="3"),
        *gang("urgent", 1, cpu="2", priority=100),
    ]


def decided(objects, **options):
    """The answer, the cluster and the options."""
    chosen, snapshot = CycleOptions(**options), load(json.dumps(each).encode() for each in objects)
    result = run_cycle(snapshot, chosen)
    return Answer.from_decisions(result.decisions, result.pending, result.problems), snapshot, chosen


def case(objects, **options):
    return Case.from_answer(*decided(objects, **options))


def rendered(objects, **options):
    return page.render(*decided(objects, **options))


@dataclasses.dataclass
class Element:
    tag: str
    attributes: dict
    children: list = dataclasses.field(default_factory=list)

    def walk(self):
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def all(self, tag="", css=""):
        return [each for each in self.walk() if tag in {"", each.tag} and (not css or css in each.attributes.get("class", "").split())]

    @property
    def text(self):
        return " ".join("".join(self._texts()).split())

    def _texts(self):
        for child in self.children:
            if isinstance(child, Element):
                yield from child._texts()
            else:
                yield child


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice in <{tag}>: {names}"
        element = Element(tag, {name: value if value is not None else "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in NO_CLOSING_TAG:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in NO_CLOSING_TAG:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, text):
        self.open[-1].children.append(text)


def read(text):
    """The document; every tag is closed where it must be."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert [each.tag for each in reader.open] == [""]
    return reader.open[0]
