"""Union of all causes that a decision, a group or a pod can have."""

from __future__ import annotations

from scheduler_core.causes.attempts import AttemptReason
from scheduler_core.causes.claims import ClaimCause
from scheduler_core.causes.groups import GroupCause, PodCause
from scheduler_core.causes.live import LiveCause
from scheduler_core.causes.pre_enqueue import PreEnqueueCause
from scheduler_core.causes.searches import SearchCause
from scheduler_core.causes.volume_causes import VolumesNotHeld

Cause = GroupCause | PodCause | AttemptReason | PreEnqueueCause | ClaimCause | SearchCause | VolumesNotHeld | LiveCause
