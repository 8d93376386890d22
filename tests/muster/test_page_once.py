"""What bars show is not said again; pods that differ have a headline, and a bar with a block for each."""

from __future__ import annotations

import pytest

from tests.muster import paged
from tests.muster.paged import RACK, gang, group, machine, member, racks, read

MIXED = [group("job", 3, key=RACK), member("job-0", "job", cpu="3"), member("job-1", "job", cpu="2"), member("job-2", "job", cpu="2")]


def card(objects, **options):
    (found,) = read(paged.rendered(objects, **options)).all("article")
    return found


def test_text_does_not_repeat_what_the_bars_show():
    found = card(paged.many_gpus(), strategy="complete")
    text = "".join(each.text for each in found.all(css="said"))

    assert [
        "capacity for 2 of 4 pods8 free",
        "capacity for 1 of 4 pods4 free; 8 more on 1 node with the taint maintenance=yes:NoSchedule",
    ] == [each.all(css="gauge-text")[0].text for each in found.all(css="has")]
    assert "No placement exists" in text
    assert "rack r1 can hold" not in text
    assert "rack r2 can hold 1 (short of 12 nvidia.com/gpu: 4 free, 16 needed), or 3 if the taint" in text
    assert "can hold" not in "".join(each.text for each in card([*racks(1, 1), *gang("job", 9, key=RACK)]).all(css="said"))


@pytest.mark.parametrize("rule", ["podAntiAffinity", "nodeSelector"])
def test_text_says_what_no_bar_shows(rule):
    if rule == "nodeSelector":
        pods = [group("job", 2), *(member(f"job-{each}", "job", nodeSelector={"disk": "ssd"}) for each in range(2))]
    else:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
        affinity = {rule: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        pods = [group("job", 2), *(member(f"job-{each}", "job", affinity=affinity) for each in range(2))]
    found = card([machine("n"), *pods])
    assert found.all(css="said")[0].all("p")


def test_pods_on_cards_are_not_listed_again():
    page = read(paged.rendered(paged.many_gpus()))
    assert "Pods without a node" not in page.text
    assert ["#open"] == [each.attributes["href"] for each in page.all("a") if each.text == "4 pending"]


def test_unlike_pods_have_a_headline_and_a_block_each():
    found = card([*racks(1, cpu="6"), *MIXED])
    (need,) = found.all(css="needs")
    (path,) = [each for each in need.all("path") if each.attributes["class"] == "k-need"]

    assert ["Only 6 cpu are free in rack r1; 7 are needed."] == [each.text for each in found.all(css="headline")]
    assert 3 == path.attributes["d"].count("M")
    assert "7 cpu for 3 podsin one rack; 1 pod of 3, 2 pods of 2" == need.all(css="gauge-text")[0].text


def test_of_unlike_pods_those_without_the_resource_are_counted():
    pods = [group("job", 3, key=RACK), *(member(f"w{each}", "job", gpus=4) for each in range(2)), member("head", "job")]
    (need,) = card([*racks(1, gpus=4), *pods]).all(css="needs")
    assert "8 nvidia.com/gpu for 3 podsin one rack; 2 pods of 4, 1 pod of none" == need.all(css="gauge-text")[0].text


def test_unlike_pods_that_no_node_admits_have_a_headline():
    nodes = [machine("a", taint="x"), machine("b", cordoned=True), machine("c")]
    pods = [group("job", 2), member("job-0", "job", nodeName="c", cpu="9"), member("job-1", "job", cpu="8", nodeSelector={"a": "b"})]
    assert card([*nodes, *pods]).all(css="headline")


@pytest.mark.parametrize("objects", [paged.many_gpus(), [*racks(1, cpu="6"), *MIXED], [machine("n"), *gang("g", 2, cpu="9")]])
def test_no_bar_of_needs_is_empty(objects):
    for need in read(paged.rendered(objects)).all(css="needs"):
        assert any(each.attributes["d"] for each in need.all("path") if each.attributes["class"] == "k-need")
