"""Scheduling attempts; imports ``queue`` and what it imports.

scheduler        which roots are tried, and what follows
decide           one cycle over a few roots
apply_decision   from a decision to writes, and to what the root waits for
binding          binds, conditions, nominations
preemption_plan  victims: chosen, tried dry, told to leave, awaited
write_results    what follows from what became of a write
"""
