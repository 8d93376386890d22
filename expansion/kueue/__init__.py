"""Admission of jobs by Kueue: whether its quotas let them start, and on which nodes.

admitted_jobs   which jobs are admitted, and what that changes in their pods
assign_flavors  flavors for the parts of a job, and why a part gets none
nominate        whether a job is admitted now, by preemption, or with fewer pods
pending         the jobs to admit
preemption      Workloads that are preempted for a job
queued_jobs     the jobs with a queue among given and created objects
queues          ClusterQueues, Cohorts, LocalQueues and flavors, with what is reserved
quota_tree      quota of ClusterQueues and Cohorts, and what can be borrowed
"""
