"""Differences between the versions of kube-scheduler that are mirrored; imports nothing else of ours but the names of versions.

scheduler_behavior  SchedulerBehavior: one field for each difference, and an instance for each version

Code reads a fact by its name and never compares versions.  A new version is one more instance, and a new difference one more field.
"""
