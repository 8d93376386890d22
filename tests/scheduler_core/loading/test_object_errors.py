"""Messages for objects that cannot be decoded."""

import pytest

from kubeapi.decode import ENCODER
from kubeapi.decoders import DECODERS
from kubeapi.nodes import Taint
from kubeapi.pods import Pod
from kubeapi.selectors import LabelSelector, Requirement
from scheduler_core.causes.input_problems import Effect, InvalidField
from scheduler_core.loading import object_errors


def test_taints_have_an_effect_that_there_is():
    taints = [Taint("a", "NoSchedule"), Taint("b", "PreferNoSchedule"), Taint("c", "NoExecute"), Taint("d"), Taint("e", "noexecute")]

    assert ["spec.taints[3].effect", "spec.taints[4].effect"] == [each.field for each in object_errors.taints(taints)]


@pytest.mark.parametrize(
    ("expression", "texts"),
    [
        (("app", "In", ("web",)), ""),
        (("app", "NotIn", ("web", "db")), ""),
        (("example.com/app", "Exists", None), ""),
        (("app", "DoesNotExist", ()), ""),
        (("app", "in", ("web",)), 'operator is "in"; allowed: In, NotIn, Exists, DoesNotExist'),
        (("app", "Gt", ("1",)), 'operator is "Gt"; allowed: In, NotIn, Exists, DoesNotExist'),
        (("app", "In", ()), "In needs values"),
        (("app", "Exists", ("web",)), "Exists takes no values"),
        (("no key", "Exists", None), '"no key" is not a valid label key'),
        (("app", "In", ("no value",)), '"no value" is not a valid label value'),
    ],
)
def test_expressions_of_label_selectors(expression, texts):
    result = [*object_errors.selector(LabelSelector(match_expressions=(Requirement(*expression),)), "selector")]

    assert result == ([InvalidField("selector.matchExpressions[0]", texts, Effect.SELECTOR_MATCHES_NOTHING)] if texts else [])


def test_labels_of_label_selectors():
    selector = LabelSelector(match_labels={"a": "b", "c": "no value"})

    wrong = InvalidField("selector.matchLabels[c]", '"no value" is not a valid label value', Effect.SELECTOR_MATCHES_NOTHING)
    assert [wrong] == [*object_errors.selector(selector, "selector")]
    assert [] == [*object_errors.selector(None, "selector")]


def constraints(**spec):
    return [*object_errors.constraints(DECODERS[Pod].decode(ENCODER.encode({"spec": spec})).spec)]


REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
UNSOUND = {"matchExpressions": [{"key": "a", "operator": "In"}]}


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        pytest.param({"tolerations": [{"operator": "equal"}]}, "spec.tolerations[0].operator", id="operator of a toleration"),
        pytest.param({"tolerations": [{}, {"effect": "x"}]}, "spec.tolerations[1].effect", id="effect of a toleration"),
        pytest.param(
            {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "Never"}]},
            "spec.topologySpreadConstraints[0].whenUnsatisfiable",
            id="when unsatisfiable",
        ),
        pytest.param(
            {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "a", "labelSelector": UNSOUND}]},
            "spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0]",
            id="selector of a spread constraint",
        ),
        pytest.param(
            {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{}, UNSOUND]}}}},
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[1].matchExpressions[0]",
            id="required node affinity",
        ),
        pytest.param(
            {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": UNSOUND}]}}},
            f"spec.affinity.nodeAffinity.{PREFERRED}[0].preference.matchExpressions[0]",
            id="preferred node affinity",
        ),
        pytest.param(
            {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [{"key": "spec.x", "operator": "In", "values": ["a"]}]}]}}}},
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchFields[0]",
            id="field of a node",
        ),
        pytest.param(
            {"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": "a", "labelSelector": UNSOUND}]}}},
            f"spec.affinity.podAffinity.{REQUIRED}[0].labelSelector.matchExpressions[0]",
            id="pod affinity",
        ),
        pytest.param(
            {"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": {"topologyKey": "a", "namespaceSelector": UNSOUND}}]}}},
            f"spec.affinity.podAntiAffinity.{PREFERRED}[0].podAffinityTerm.namespaceSelector.matchExpressions[0]",
            id="namespaces of preferred pod anti-affinity",
        ),
    ],
)  # fmt: skip
def test_constraints_of_a_pod_that_are_not_sound(spec, path):
    assert [path] == [each.field for each in constraints(**spec)]


@pytest.mark.parametrize(
    ("values", "sound"),
    [(["5"], True), (["005"], True), (["5.5"], False), (["5", "6"], False), ([], False)],
)
def test_greater_and_less_take_one_whole_number(values, sound):
    term = {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": values}]}

    assert sound is (not constraints(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}))


def test_a_sound_pod_has_nothing_reported():
    terms = {
        "matchExpressions": [{"key": "a", "operator": "Lt", "values": ["3"]}],
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
    }
    spread = {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"a": ""}}}

    assert [] == constraints(
        affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [terms]}}, "podAffinity": {}},
        tolerations=[{"operator": "Exists"}, {"key": "a", "operator": "Gt", "value": "1", "effect": "NoSchedule"}],
        topologySpreadConstraints=[spread],
    )
