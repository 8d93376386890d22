"""Selection of victims as in kube-scheduler.

workload_aware      for a group (WorkloadAwarePreemption)
default_preemption  for a single pod (DefaultPreemption)
dry_run             a pod on every node without the lower units
node_ranks          costs of nodes by their victims, from kube-scheduler 1.38 on
reprieve            reprieves units while the proposed pods still fit
"""
