"""JobSet (jobset.x-k8s.io).

jobset           the adapter
replicated_jobs  replicated jobs; each of their Jobs is one group
jobset_policies  the user's scheduling blocks for each replicated job
startup_order    whether a gang can be complete despite a startup order
jobset_objects   Jobs and pods that JobSet's controller creates
jobset_labels    labels and annotations of these objects
"""
