"""Adapters for PodGroups of other schedulers.

scheduler_groups  common parts: owners, pods, names of topology levels
coscheduling      scheduler-plugins (scheduling.x-k8s.io)
volcano           Volcano (scheduling.volcano.sh)
kai               KAI Scheduler (scheduling.run.ai)
"""
