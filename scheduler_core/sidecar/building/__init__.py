"""Mode ``build``: Workloads and groups for the objects of controllers that create none.

Imports ``client`` and the layers below it, ``workloadbuilder``, and in ``builder`` ``apiserver``.  It is independent of ``cache`` and of
the loop: the creation of groups does not delay placement.

objects      watched objects, as JSON
plan         what should exist for one object, and the reason if nothing should
pods         groups of pods that came before their groups
builder      the threads: they watch, and make the writes of one object after the other
"""
