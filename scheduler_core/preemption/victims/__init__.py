"""The choice of victims as kube-scheduler makes it.

workload_aware      for a group (WorkloadAwarePreemption)
default_preemption  for a single pod (DefaultPreemption)
dry_run             one pod on every node once all lower units are gone
reprieve            units given back one by one, as long as the pods still fit
"""
