"""PodGroups of other schedulers.

scheduler_groups  what they have in common: owners, pods, names of topology levels
coscheduling      scheduler-plugins (scheduling.x-k8s.io)
volcano           Volcano (scheduling.volcano.sh)
kai               KAI Scheduler (scheduling.run.ai)
"""
