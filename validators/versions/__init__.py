"""All knowledge about API versions.  Light: imports ``validators.field`` and nothing else of ours.

table       which API group and version has which kinds, from which Kubernetes version to which: the single source
served      questions about the table: the hub of a kind, versions in order of preference, resources
form        how the objects of an API version differ from today's form, the hub
v1alpha1    conversion of ``scheduling.k8s.io/v1alpha1``
v1alpha2    conversion of ``scheduling.k8s.io/v1alpha2``
releases    minor versions of Kubernetes, and what changed in which

A new version or group is a row of the table.  Where its objects differ from the hub, it also needs a conversion module.
"""
