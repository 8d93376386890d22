"""The queue between the threads that hear and the one that decides."""

from __future__ import annotations

import threading

import msgspec
import pytest

from scheduler_core.sidecar.cache.informers import Changed, Unserved
from scheduler_core.sidecar.process.mailbox import Mailbox

PATIENCE = 20


def filled(*news):
    inbox = Mailbox()
    for each in news:
        inbox.enqueue(each)
    return inbox


A, B, C = Unserved("A"), Unserved("B"), Unserved("C")


@pytest.mark.parametrize(
    ("most", "first", "then"),
    [
        pytest.param(2, [A, B], [C], id="fewer than there are"),
        pytest.param(3, [A, B, C], [], id="as many"),
        pytest.param(9, [A, B, C], [], id="more"),
    ],
)
def test_events_are_taken_in_the_order_of_arrival_and_at_most_the_requested_number(most, first, then):
    inbox = filled(A, B, C)

    assert first == [*inbox.dequeue(0.0, most)]
    assert then == [*inbox.dequeue(0.0, most)]


@pytest.mark.parametrize(
    "seconds", [pytest.param(0.0, id="no time"), pytest.param(-1.0, id="less than none"), pytest.param(0.001, id="some")]
)
def test_where_there_is_nothing_nothing_is_taken(seconds):
    assert [] == [*Mailbox().dequeue(seconds, 10)]


@pytest.mark.parametrize(
    "news", [pytest.param([None], id="alone"), pytest.param([None, A], id="before news"), pytest.param([A, None, B], id="among news")]
)
def test_a_wake_up_is_not_a_change(news):
    assert [each for each in news if each] == [*filled(*news).dequeue(0.0, 10)]


@pytest.mark.parametrize(("news", "want"), [pytest.param(A, [A], id="by news"), pytest.param(None, [], id="by nothing else")])
def test_who_waits_is_woken_up(news, want):
    inbox, taken = Mailbox(), []
    waiting = threading.Thread(target=lambda: taken.extend(inbox.dequeue(PATIENCE, 10)))
    waiting.start()
    inbox.enqueue(news)
    waiting.join(PATIENCE / 2)

    assert not waiting.is_alive()
    assert want == taken


def test_an_event_waits_while_the_mailbox_is_full_and_nothing_else_does(monkeypatch):
    monkeypatch.setattr("scheduler_core.sidecar.process.mailbox.MAX_EVENTS", 2)
    inbox, event = filled(A, B), Changed("Pod", "ADDED", msgspec.Raw(b"{}"))
    watching = threading.Thread(target=inbox.enqueue, args=(event,))
    watching.start()
    inbox.enqueue(C)

    watching.join(0.1)
    assert watching.is_alive()
    assert [A, B] == [*inbox.dequeue(0.0, 2)]
    watching.join(PATIENCE)
    assert [C, event] == [*inbox.dequeue(0.0, 9)]
