"""Migration of manifests from retired to current API versions, preserving their text.

``migrate_object`` and ``references`` compute the changes of objects, and ``groups`` the PodGroups to add.  ``change`` applies
changes to JSON, ``rewrite`` to the text.  ``migrate_files`` migrates files; ``manifest`` compares the two results.
"""
