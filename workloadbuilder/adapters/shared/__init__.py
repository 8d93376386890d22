"""Common parts of the adapters.

adapter_result     result of an adapter: items, pods, errors and losses
fields             fields of an untrusted object, checked by type
object_identity    kind, name and owner of an object
known_objects      objects that adapters look up by name
pod_claims         claims that controllers create for their pods
pod_template       pods as controllers create them from a template
pod_sets           objects whose pods are one gang, or have no group
named_groups       the group that a pod or a pod template names
node_matching      nodes that a DaemonSet selects
job_spec           a Job's spec
strategic_merge    strategic merge patches of pod templates
group_annotations  annotations of Muster that stand for building blocks
kueue_annotations  Kueue's topology annotations as the request of a podset
kueue_rules        what Kueue refuses of them
kueue_flavors      Topologies and ResourceFlavors of Kueue in the input
kueue_podsets      podsets of Kueue as groups with domains
"""
