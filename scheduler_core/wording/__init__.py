"""Text for people from the values of ``causes``; imports ``model`` and ``causes`` only.

Only the facade, ``sidecar`` and ``muster`` import it, and the decider until its decisions have no text.  A parameter *shown* turns the
name of an object into text.

titles            names of objects, domains and taints
phrases           amounts, numbers of nodes, numbers of pods that domains hold
resource_words    missing resources
pod_rule_words    host ports, affinity and topology spread
volume_words      volumes, claims and storage
device_words      devices and the claims to them
selector_phrases  selectors of devices
node_words        causes why nodes refuse a pod
domain_words      causes in one domain, and of several domains
group_words       causes of groups
greedy_words      reasons why greedy may have missed a placement
kube_scheduler    causes of single pods, in the words of kube-scheduler
verdict_line      first sentence of the cause of a root, in one line
report            whole diagnosis of a root
changes           changes, remedies, and limits of the search for them
constraints       conflicting constraints
"""
