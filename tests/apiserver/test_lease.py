from __future__ import annotations

import json
import threading
from types import SimpleNamespace

import pytest

from apiserver.election import Election
from apiserver.lease import TROUBLE_SECONDS, Lease
from tests.apiserver.fake import serving
from tests.webhooks.running import until


class Leases:
    """Leases of an API server: each write makes a new version, a write with an older version is a conflict."""

    def __init__(self):
        self.lease = None
        self.version = 0
        self.failing = 0
        self.lock = threading.Lock()

    def __call__(self, method, _path, body):
        with self.lock:
            if self.failing:
                self.failing -= 1
                return 500, {}, {"code": 500, "message": "not now"}
            if method == "GET":
                return (200, {}, self.lease) if self.lease else (404, {}, {"code": 404})
            given = json.loads(body)
            if method == "POST" and self.lease is not None:
                return 409, {}, {"code": 409, "message": "it is there"}
            if method == "PATCH" and given["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
                return 409, {}, {"code": 409, "message": "the object has been modified"}
            self.version += 1
            remaining = self.lease["metadata"] if self.lease else {}
            self.lease = {**given, "metadata": {**remaining, **given["metadata"], "resourceVersion": str(self.version)}}
            return 201, {}, self.lease

    @property
    def holder(self):
        return self.lease["spec"].get("holderIdentity") if self.lease else None


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("apiserver.election.RETRY_SECONDS", 0.01)


def test_the_first_leads_and_the_second_follows_when_it_stops():
    leases = Leases()
    with serving(leases) as (_, api):
        first, second = (Lease(api, "ns", "muster", Election(name)) for name in "ab")
        first.start()
        assert until(first.leading)
        second.start()
        try:
            assert "a" == leases.holder
            assert not second.leading()
            first.stop()
            assert until(second.leading)
            assert not first.leading()
            assert "b" == leases.holder
        finally:
            second.stop()
    assert "" == leases.holder


def test_a_leader_that_must_not_release_keeps_the_lease_until_it_expires():
    leases = Leases()
    with serving(leases) as (_, api):
        lease = Lease(api, "ns", "muster", Election("a"))
        lease.start()
        assert until(lease.leading)
        lease.stop(release=False)

    assert ("a", False) == (leases.holder, lease.leading())


def test_a_leader_whose_lease_was_taken_stops():
    leases, messages = Leases(), []
    with serving(leases) as (_, api):
        lease = Lease(api, "ns", "muster", Election("a"), lambda *each: messages.append(each))
        lease.start()
        try:
            assert until(lease.leading)
            with leases.lock:
                leases.version += 1
                leases.lease["metadata"]["resourceVersion"] = str(leases.version)
                leases.lease["spec"] |= {"holderIdentity": "thief", "leaseDurationSeconds": 60}
            assert until(lambda: not lease.leading())
            assert ("info", "thief leads") == messages[-1]
        finally:
            lease.stop()
    assert "thief" == leases.holder


def test_a_failure_is_reported_once_and_tried_again():
    leases, messages = Leases(), []
    leases.failing = 3
    with serving(leases) as (_, api):
        lease = Lease(api, "ns", "muster", Election("a"), lambda *each: messages.append(each))
        lease.start()
        try:
            assert until(lease.leading)
        finally:
            lease.stop()
    assert [("warning", "the lease ns/muster cannot be read or written: HTTP 500: not now"), ("info", "a leads")] == messages


def test_failing_for_long_is_trouble_until_it_goes_well_again(monkeypatch):
    leases, clock = Leases(), SimpleNamespace(now=1000.0)
    leases.failing = 10**9
    monkeypatch.setattr("apiserver.lease._now", lambda: clock.now)
    messages = []
    with serving(leases) as (_, api):
        lease = Lease(api, "ns", "muster", Election("a"), lambda *each: messages.append(each))
        assert "" == lease.trouble()
        lease.start()
        try:
            assert until(lambda: messages)
            clock.now += TROUBLE_SECONDS
            assert "" == lease.trouble()
            clock.now += 1.0
            assert "the lease ns/muster cannot be read or written: HTTP 500: not now" == lease.trouble()
            leases.failing = 0
            assert until(lambda: not lease.trouble())
        finally:
            lease.stop()


def test_a_lease_that_others_hold_is_no_trouble(monkeypatch):
    leases, clock, messages = Leases(), SimpleNamespace(now=1000.0), []
    leases.lease = {"metadata": {"name": "muster", "resourceVersion": "0"}, "spec": {"holderIdentity": "b", "leaseDurationSeconds": 10**6}}
    monkeypatch.setattr("apiserver.lease._now", lambda: clock.now)
    with serving(leases) as (_, api):
        lease = Lease(api, "ns", "muster", Election("a"), lambda *each: messages.append(each))
        lease.start()
        try:
            assert until(lambda: messages)
            clock.now += 10 * TROUBLE_SECONDS
            assert until(lambda: not lease.trouble())
        finally:
            lease.stop()
    assert ("info", "b leads") == messages[0]


def test_labels_of_the_lease_stay():
    leases = Leases()
    leases.lease = {"metadata": {"name": "muster", "labels": {"team": "x"}, "resourceVersion": "0"}, "spec": {}}
    with serving(leases) as (_, api):
        lease = Lease(api, "ns", "muster", Election("a"))
        lease.start()
        try:
            assert until(lease.leading)
        finally:
            lease.stop()
    assert {"team": "x"} == leases.lease["metadata"]["labels"]
