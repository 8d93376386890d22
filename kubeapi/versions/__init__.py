"""All knowledge about API versions.

api_versions         kinds of each API group and version, with the Kubernetes versions that serve them: the single source
served_versions      lookups in the table: the hub of a kind, versions in order of preference, resources
conversion           conversion between the objects of an API version and the hub, the current form
v1alpha1             conversion of ``scheduling.k8s.io/v1alpha1``
v1alpha2             conversion of ``scheduling.k8s.io/v1alpha2``
kubernetes_releases  minor versions of Kubernetes, and what changed in them
removed_gates        feature gates with which a version does not start

A new version or group is a row of the table.  Where its objects differ from the hub, it also needs a conversion module.
"""
