"""JobSet (jobset.x-k8s.io).

jobset           the adapter
replicated_jobs  templates, of which Jobs are made, each of them one group
jobset_policies  what the user wants of each replicated job
startup_order    whether Jobs come in an order, and can a gang of them be complete then
jobset_objects   the Jobs and pods that JobSet's controller makes
jobset_labels    labels and annotations of these
"""
