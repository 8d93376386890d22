"""Text for people from the values of ``causes``; imports ``model`` and ``causes``, and ``kubeapi`` for names of resources.

Only the facade, ``sidecar`` and ``muster`` import it.  A parameter *shown* turns the name of an object into text.

nouns             counts with nouns, lists in words, nouns for topology levels
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
filter_words      reasons of filters, failures of plugins, errors about devices, and advice
kube_scheduler    results of attempts and preemptions, in the words of kube-scheduler
pre_enqueue_words causes that keep a root out of the queue
claim_words       causes about claims to devices
live_words        causes that only a live cluster has
built_group_words events about the groups of objects, in mode build
binding_words     events and conditions about binding and preemption
decision_words    messages of decisions, groups and pods
itself            causes about "it", the object that a text is about
headline          why a root is not placed, in one sentence
conditions        conditions of groups
stated_causes     causes that a message above has stated
sentences         sentences and their clauses
truncation        long messages and lists, cut with a note of what is omitted
verdict_line      first sentence of the cause of a root, in one line
changes           changes, remedies, and limits of the search for them
constraints       conflicting constraints
problem_words     problems and notes
"""
