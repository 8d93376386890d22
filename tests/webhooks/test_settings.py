"""Settings: defaults, both sides of each limit, and errors in one line."""

import dataclasses

import pytest

from validators.gates import TOPOLOGY
from validators.options import OptionError
from validators.rules.base import Profile, Severity
from webhooks.settings import OPTIONS, Settings

READ = Settings.from_environ


def test_nothing_set_gives_the_defaults():
    settings = READ({})

    assert ("127.0.0.1:9443", None, 2, 4) == (
        str(settings.bind),
        settings.probe_bind,
        settings.workers,
        settings.threads,
    )
    assert 7 * 1024 * 1024 == settings.body_bytes
    assert (Profile.KEP, 37, "podgroup") == (settings.profile, settings.kubernetes, settings.finalizers)


def test_connections_outlive_the_api_servers_and_requests_do_not():
    settings = READ({})

    assert settings.keepalive_seconds > 90
    assert settings.request_seconds < 3


def test_an_empty_variable_is_one_not_set():
    assert READ({}) == READ({option.variable: " " for option in OPTIONS.values()})


def test_every_field_has_an_option_with_a_default_that_can_be_read_and_a_purpose():
    settings = READ({})

    assert [each.name for each in dataclasses.fields(Settings) if each.name not in OPTIONS] == []
    for option in OPTIONS.values():
        assert option.purpose or option.help
        assert "" == option.default or READ({option.variable: option.default}) == settings


def test_given_values_override_variables_which_are_not_read():
    assert (3, True) == ((read := READ({"MUSTER_WORKERS": "x", "MUSTER_CLUSTER": "true"}, {"workers": 3})).workers, read.cluster)


@pytest.mark.parametrize(
    ("name", "good", "bad", "must"),
    [
        ("MUSTER_WORKERS", ("1", "64"), ("0", "65", "x", "1.5"), "a whole number from 1 to 64"),
        ("MUSTER_BODY_BYTES", ("1024",), ("1023",), "a whole number from 1024 to"),
        ("MUSTER_REQUEST_SECONDS", ("0.1", "30"), ("0", "30.1", "nan", "inf", "x"), "seconds from 0.1 to 30"),
        ("MUSTER_PROFILE", ("kep", "upstream"), ("KEP", "all"), "one of kep, upstream"),
        ("MUSTER_KUBERNETES", ("1.35", "1.38"), ("1.34", "37"), "one of 1.35, 1.36, 1.37, 1.38"),
        ("MUSTER_CLUSTER", ("true", "False"), ("yes",), "true or false"),
        ("MUSTER_BIND", ("a:0", "[::1]:65535"), ("a", ":1", "a:", "a:65536", "::1:1", "a:-1"), "HOST:PORT"),
        ("MUSTER_RULES", ("a=off", "a=off, b=error"), ("a", "a=on", "=off"), "ID=error"),
        ("MUSTER_ENFORCEMENT", ("audit", "warn, a=deny", "a=audit\nb=warn"), ("a", "a=off", "=deny", "deny=x"), "deny, warn or audit"),
        ("MUSTER_GATES", ("CompositePodGroup=false",), ("CompositePodGroup", "CompositePodGroup=1"), "NAME=true"),
        ("MUSTER_CERTIFICATES", ("files", "managed"), ("auto",), "one of files, managed"),
        ("MUSTER_CERTIFICATE_SECRET", ("a.b",), ("A", "a/b", "../x"), "a lowercase RFC 1123 subdomain"),
        ("MUSTER_CERTIFICATE_CONFIGURATIONS", ("a", "a, b"), ("a,B",), "a lowercase RFC 1123 subdomain"),
        ("MUSTER_CERTIFICATE_NAMES", ("a.b.svc, 127.0.0.1",), ("a_b",), "must be a DNS name"),
        ("MUSTER_CERTIFICATE_REPLICAS", ("a:1, [::1]:2",), ("a",), "HOST:PORT"),
        ("MUSTER_CERTIFICATE_DAYS", ("1",), ("0",), "a whole number from 1 to 3650"),
        ("MUSTER_FINALIZERS", ("none", "all"), ("some",), "one of none, podgroup, all"),
    ],
)
def test_limits(name, good, bad, must):
    for text in good:
        READ({name: text})
    for text in bad:
        with pytest.raises(OptionError) as raised:
            READ({name: text})
        message = str(raised.value)
        assert name in message
        assert repr(text) in message
        assert must in message
        assert 1 == len(message.splitlines())


def test_gates_with_which_no_server_starts_are_a_mistake():
    with pytest.raises(OptionError, match="no API server starts with CompositePodGroup on"):
        READ({"MUSTER_GATES": f"{TOPOLOGY}=false"})


def test_two_places_to_look_objects_up_exclude_each_other():
    with pytest.raises(OptionError, match="exclude each other"):
        READ({"MUSTER_CLUSTER": "true", "MUSTER_OBJECTS": "x"})


def test_a_body_must_fit_into_the_share_of_large_bodies():
    with pytest.raises(OptionError, match="MUSTER_BODY_BYTES must be at most three quarters of MUSTER_TOTAL_BODY_BYTES"):
        READ({"MUSTER_TOTAL_BODY_BYTES": "4096", "MUSTER_BODY_BYTES": "3073"})
    assert 3072 == READ({"MUSTER_TOTAL_BODY_BYTES": "4096", "MUSTER_BODY_BYTES": "3072"}).body_bytes


def test_a_server_without_a_port_for_probes_is_refused():
    with pytest.raises(OptionError, match="MUSTER_TLS_PROBES is false: --probe-bind"):
        READ({"MUSTER_TLS_PROBES": "false"})
    assert READ({}).tls_probes


def test_rules_are_judged_as_set():
    judging = READ({"MUSTER_RULES": "b=off,a=error,b=warning", "MUSTER_PROFILE": "upstream"}).judging

    assert (("a", Severity.ERROR), ("b", Severity.WARNING)) == judging.severities
    assert (Profile.UPSTREAM, 37, False) == (judging.profile, judging.minor, judging.linting)


@pytest.mark.parametrize("text", ["127.0.0.1:80", "[::1]:80", "localhost:0"])
def test_an_address_is_written_as_it_is_read(text):
    assert text == str(READ({"MUSTER_BIND": text}).bind)
