"""Migration of manifests from retired to current API versions, preserving their text.

``migrate_object`` and ``references`` compute the changes of objects, and ``groups`` the PodGroups to add.  ``change`` applies
changes to JSON, ``rewrite`` to the text.  ``migrate_files`` migrates files; ``manifest`` compares the two results.

block           edits of YAML in block style, where lines and their indentation are the structure
flow            edits inside braces: JSON, and YAML in flow style
formatting      formatting of values: scalars and small mappings within an existing text, and whole new objects
gather          changes that follow from references between all objects of a run: PodGroups to add, and losses
group_names     names of created PodGroups: valid, and always the same for the same reference
insert          insertion of new objects after their Workload, in the language and layout of the surrounding text
object_changes  one object of a migration, with its changes and losses
moves           objects of a live cluster that move to another API group, and what refers to them
outcome         results of a migration
pod_groups      name of the group of a pod in the API group to which a migration leads: a field or a label
recreate        objects that a newer version refuses to update, and the steps that replace them before the upgrade
report          report of a migration, as text and as JSON (version 1; keys are added, never changed or removed)
stored_objects  stored objects of a cluster, and what a newer version of Kubernetes answers about them
twins           objects that would be moved to where the inputs have one of the same name already
text_edits      text of one chunk of a file, with its lines and comments, and edits by offset
"""
