"""Adapters for the groups of other schedulers.

scheduler_groups  common parts: owners, pods, names of topology levels
coscheduling      scheduler-plugins (scheduling.x-k8s.io)
volcano           Volcano (scheduling.volcano.sh)
volcano_tasks     minimums of tasks, as minimums of groups
volcano_owners    gang by an annotation of a Deployment, ReplicaSet, StatefulSet or DaemonSet
volcano_job       Job of Volcano (batch.volcano.sh)
kai               KAI Scheduler (scheduling.run.ai)
"""
