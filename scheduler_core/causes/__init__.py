"""Reasons as values: frozen, hashable, and without sentences; imports ``model`` only.

``wording`` turns them into text, every member of a union.  Objects of a namespace are a ``Name``; nodes, classes, requests and keys are
named by a text.  Other text is a field only where kube-scheduler or a plugin wrote it.  The causes of a group are a tree: the group, its
domains, and why their nodes refuse it.

node_count         number of nodes, amount of a resource, nodes by label
resources          requests that nodes do not satisfy
node_states        taints, labels and cordons of nodes; reasons of plugins
other_pods         host ports, affinity and topology spread
volume_causes      volumes, claims and storage
device_refusals    devices and the claims to them
domains            pods that a domain holds, why not more, and the filter that keeps them out
groups             groups with their domains and children; single pods, as kube-scheduler reports them
filter_reasons     reasons of filters that are more than a text; advice about devices
plugin_failures    plugins that fail, so that an attempt ends
attempts           results of attempts and preemptions in kube-scheduler's terms
pre_enqueue        gates, missing members and parents, trees that break a rule
claims             consumers, reservations and allocations of claims to devices
input_problems     objects that cannot be used, or not in full
live               blocked evictions, kinds that are not listed, interrupted binding: of a live cluster only
binding_failures   volumes and devices that are not bound before their pods: of a live cluster only
built_groups       reasons for no groups of an object, and results, in mode build of the sidecar
missed_placements  reasons why greedy may have missed a placement
searches           what a search has proved, and what kube-scheduler overlooks
cause              union of all causes of a decision
changes            changes of a cluster that a remedy makes, and limits of the search for them
removed_causes     which causes a change removes
constraints        constraints that conflict
"""
