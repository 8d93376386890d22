"""Mode ``build``: Workloads and groups for the objects of controllers that create none.

Imports ``client`` and the layers below it, ``workloadbuilder``, and in ``group_writer`` and ``builder`` ``apiserver``.  It is independent
of ``cache`` and of the loop: the creation of groups does not delay placement.

owned_objects  watched objects, as JSON, by name and by controller
group_plan     plan of one object: the Workload and groups that should exist, or the reason for none
build_results  result for each object, for metrics and /explain
waiting_pods   groups of pods that came before their groups, and pods that need none
group_writer   requests: writes of groups, pods that join them, events
builder        the threads: they watch, and bring one object after the other to its plan
"""
