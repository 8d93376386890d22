"""Scheduling attempts; imports ``queue`` and the layers below it.

scheduler        facade: attempts, write results, /explain
awaited_claims   claims that victims leave to nominated pods, and the devices that these are to get
decide           one cycle over a few roots
apply_decision   API writes and next state after a decision
binding          binds, conditions, nominations
pre_binding      volumes and devices that are bound before the pods, and their progress
volume_binder    writes and progress of volumes
device_binder    writes and progress of claims to devices
preemption_plan  preemption plans: dry run, proof, evictions
plan_steps       steps of plans: second proof, nominations, evictions
write_results    handling of write results
waiting          what a root waits for that is not attempted
explanation      decision on a root, and its writes
eviction_budgets  disruption budgets that forbid the evictions of a preemption plan
"""
