"""Device selectors in words: names, domains where needed, and literals that stay whole."""

from __future__ import annotations

import json

import pytest

from scheduler_core.cel.selector import selector_parts
from scheduler_core.model.device_comparisons import ComparedPart, Comparison, DeviceComparison
from scheduler_core.wording.selector_phrases import selector_phrases
from tests.sampling import sampled
from tests.scheduler_core.cel.selector_expressions import SelectorWriter

RECORDED = """
device.attributes["gpu.nvidia.com"].profile == "1g.10gb" => profile == 1g.10gb
device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0 => memory >= 40Gi
device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("64Gi")) => memory > 64Gi
device.attributes["gpu.nvidia.com"].cudaComputeCapability.isGreaterThan(semver("7.5.0")) => cudaComputeCapability > 7.5.0
device.attributes["gpu.nvidia.com"].mig => mig
!device.attributes["gpu.nvidia.com"].mig => no mig
device.attributes["example.com"].zone == "a" => zone == a
device.attributes["gpu.nvidia.com"].cudaComputeCapability.compareTo(semver("8.0.0")) == 0 => cudaComputeCapability == 8.0.0
device.attributes["gpu.nvidia.com"].cudaComputeCapability == "8.0.0" => cudaComputeCapability == "8.0.0"
device.capacity["gpu.nvidia.com"].memory.isLessThan(quantity("80Gi")) => memory < 80Gi
device.capacity["unknown"].memory.isGreaterThan(quantity("1")) => memory > 1
device.attributes["unknown"].foo == 1 => foo == 1
device.attributes["gpu.nvidia.com"].index => index
device.attributes["gpu.nvidia.com"].type => type
device.attributes["gpu.nvidia.com"].index == "3" => index == "3"
device.attributes["gpu.nvidia.com"].index > "3" => index > "3"
device.attributes["gpu.nvidia.com"].mig == 0 => mig == 0
device.attributes["gpu.nvidia.com"].type > 1 => type > 1
device.attributes["gpu.nvidia.com"].index.isGreaterThan(quantity("1")) => index > 1
device.attributes["gpu.nvidia.com"].type.isGreaterThan(semver("1.0.0")) => type > 1.0.0
device.attributes["gpu.nvidia.com"].driverVersion.isGreaterThan(quantity("1")) => driverVersion > 1
!device.attributes["gpu.nvidia.com"].index => no index
device.attributes["b"].max == 9223372036854775807 => max == 9223372036854775807
device.attributes["b"].min == -9223372036854775808 => min == -9223372036854775808
device.capacity["b"].neg.isLessThan(quantity("0")) => neg < 0
device.capacity["b"].nano.isGreaterThan(quantity("0")) => nano > 0
device.capacity["dra.net"].bandwidth.isGreaterThan(quantity("50G")) => bandwidth > 50G
device.capacity["dra.net"].vfs.compareTo(quantity("0.5")) == 0 => vfs == 0.5
device.attributes["dra.net"].mtu >= 1500 && device.attributes["dra.net"].numaNode < 0 => mtu >= 1500 and numaNode < 0
device.attributes["dra.net"].fw.isLessThan(semver("22.31.1014")) => fw < 22.31.1014
device.attributes["l.example.com"].nodes => nodes
device.attributes["d.example"].i < "8" => i < "8"
device.attributes["d.example"].i == "7" => i == "7"
device.attributes["d.example"].v == "1.2.3-rc.1+b" => v == "1.2.3-rc.1+b"
device.attributes["d.example"].v.isLessThan(semver("1.2.3")) => v < 1.2.3
device.attributes["d.example"].v.compareTo(semver("1.2.3-rc.1+other")) == 0 => v == 1.2.3-rc.1+other
device.capacity["d.example"].memory.compareTo(quantity("81920Mi")) == 0 => memory == 81920Mi
device.capacity["d.example"].memory.isGreaterThan(quantity("79.999Gi")) => memory > 79.999Gi
device.capacity["d.example"].missing.isGreaterThan(quantity("1")) => missing > 1
device.capacity["nowhere"].memory.isGreaterThan(quantity("1")) => memory > 1
device.attributes["nowhere"].x == 1 => x == 1
device.attributes["other.example"].x == "X" => x == X
!device.attributes["d.example"].i => no i
device.attributes["d.example"].gone == 1 && device.attributes["d.example"].i == 8 => gone == 1 and i == 8
device.attributes["d.example"].gone == 1 && device.attributes["d.example"].i == 7 => gone == 1 and i == 7
"""
"""Selectors of ``tests/cases/device-selectors.json`` with their words: texts that look like numbers or versions are quoted."""


def phrases(*expressions: str) -> list[str] | None:
    return selector_phrases(selector_parts(expressions))


@pytest.mark.parametrize("line", RECORDED.strip().splitlines())
def test_words_of_the_recorded_selectors(line: str) -> None:
    expression, words = line.split(" => ")

    assert " and ".join(phrases(expression) or ()) == words


A, B = (f'device.attributes["{domain}.example.com"]' for domain in "ab")


@pytest.mark.parametrize(
    ("expressions", "words"),
    [
        ([f'{A}.model == "H200" && {B}.model == "Y"'], ["a.example.com/model == H200", "b.example.com/model == Y"]),
        ([f'{A}.model == "H200"', f"{B}.rdma"], ["a.example.com/model == H200", "b.example.com/rdma"]),
        ([f'{A}.model == "H200"', f"!has({A}.rdma)"], ["model == H200", "rdma not present"]),
        (
            [f'{A}.memory == 80 && device.capacity["a.example.com"].memory.isGreaterThan(quantity("80Gi"))'],
            ["attribute memory == 80", "capacity memory > 80Gi"],
        ),
        (
            [f'{A}.memory == 80 && device.capacity["b.example.com"].memory.isGreaterThan(quantity("80Gi"))'],
            ["attribute a.example.com/memory == 80", "capacity b.example.com/memory > 80Gi"],
        ),
        ([f'device.driver == "a" && {A}.driver == "535"'], ["driver == a", 'a.example.com/driver == "535"']),
        ([f'device.driver == "a" && {A}.model == "H200"'], ["driver == a", "model == H200"]),
        ([f'{A}.model == "H100 && PCIe; rev: C."'], ['model == "H100 && PCIe; rev: C."']),
        ([f"{A}.root == 'pci0000:3f'"], ['root == "pci0000:3f"']),
        ([f"{A}.rev == 'B.'"], ['rev == "B."']),
        ([f"{A}.rev == 'a\"b\\\\c'"], [r'rev == "a\"b\\c"']),
        ([f"{A}.rev != '' && {A}.rev != '\\u007f\\n' && {A}.rev != 'Ä'"], ['rev != ""', r'rev != "\u007f\n"', "rev != Ä"]),
        (
            [f"{A}.index in [1, 2] && !({A}.model in ['a b', 'c', 'd', 'e', 'f'])"],
            ["index in [1, 2]", 'model not in ["a b", c, d and 2 more]'],
        ),
        ([f"!{A}.model.startsWith('x y') && {A}.model.matches('^a*$')"], ['model not starting with "x y"', 'model matching "^a*$"']),
        ([f"{A}.model.endsWith('x') && !{A}.model.contains('y')"], ["model ending with x", "model not containing y"]),
        ([f'{A}["odd name"] == 1'], ['"odd name" == 1']),
        ([f'{A}.mig == "true" && {A}.mig == true && {A}.mig == false'], ['mig == "true"', "mig == true", "mig == false"]),
        ([f'{A}.size in ["80", "80Gi", "1e3"] && {A}.size == 80'], ['size in ["80", "80Gi", "1e3"]', "size == 80"]),
        ([f'{A}.size in ["-0.5", "1.2", "1.2.3"]'], ['size in ["-0.5", "1.2", "1.2.3"]']),
        ([f'{A}.size in ["1g.10gb", "8-core", "v1"]'], ["size in [1g.10gb, 8-core, v1]"]),
        ([f'{A}.model in ["and", "and for claim gpu", "a==b&&c"]'], ['model in ["and", "and for claim gpu", "a==b&&c"]']),
        ([f'{A}.model in ["==", "-", "A_1+x/y-z"]'], ['model in ["==", "-", A_1+x/y-z]']),
        ([f'{A}["not"] == "a" && {A}["80"] == 1'], ['"not" == a', '"80" == 1']),
    ],
)
def test_words(expressions: list[str], words: list[str]) -> None:
    assert phrases(*expressions) == words


def test_another_expression_has_no_words() -> None:
    assert phrases(f"{A}.rdma", f"{A}.rdma || {B}.rdma") is None


@pytest.mark.parametrize("seed", range(sampled(1500)))
def test_words_can_be_read_back(seed: int) -> None:
    """No literal is cut or taken for something else: the phrases of random selectors have all that the selectors compare."""
    _, parts = SelectorWriter(seed).selectors()
    words = selector_phrases(parts)

    assert words is not None
    assert [_tokens(each) for each in words] == [_expected(each, parts) for each in parts]
    assert all(each.isprintable() for each in words)


def _tokens(phrase: str) -> list[str]:
    """Return the words of *phrase*, and each literal in double quotes as its value after ``=``."""
    found, at = [], 0
    while at < len(phrase):
        if phrase[at] == '"':
            value, at = json.JSONDecoder().raw_decode(phrase, at)
            found.append(f"={value}")
        elif phrase[at] in " [],":
            found += [phrase[at]] if phrase[at] != " " else []
            at += 1
        else:
            end = min((end for each in ' ],"' if (end := phrase.find(each, at)) >= 0), default=len(phrase))
            found.append(phrase[at:end])
            at = end
    return found


def _expected(part: DeviceComparison, parts: list[DeviceComparison]) -> list[str]:
    several = len({each.domain_name for each in parts} - {""}) > 1
    same = [each for each in parts if each.name == part.name]
    name = [
        f"{part.domain_name}/{part.name}" if part.domain_name and (several or any(not each.domain_name for each in same)) else part.name
    ]
    if part.domain_name and {ComparedPart.ATTRIBUTE, ComparedPart.CAPACITY} <= {each.part for each in same}:
        name.insert(0, part.part.value)
    values = [_value(each.text) for each in part.literals]
    negation = ["not"] if part.negated else []
    verbs = {"startsWith": ["starting", "with"], "endsWith": ["ending", "with"], "contains": ["containing"], "matches": ["matching"]}
    match part.comparison:
        case Comparison.TRUE:
            return [*(["no"] if part.negated else []), *name]
        case Comparison.PRESENT:
            return [*name, *negation, "present"]
        case Comparison.IN:
            more = ["and", str(len(values) - 3), "more"] if len(values) > 3 else []
            listed = [token for value in values[:3] for token in (value, ",")][:-1]
            return [*name, *negation, "in", "[", *listed, *more, "]"]
    return [*name, *negation, *verbs.get(part.comparison, [part.comparison.value]), *values]


def _value(text: str) -> str:
    plain = any(map(str.isalnum, text)) and not text.endswith(".") and all(each.isalnum() or each in "-+." for each in text)
    return text if plain else f"={text}"
