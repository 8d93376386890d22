"""Yesterday's API in manifests becomes today's: what changes in an object, and how the text around it is kept.

``migrate_object`` and ``references`` say what must change, ``groups`` which PodGroups must be made, ``change`` what that comes to
in JSON, ``rewrite`` in the text; ``migrate_files`` holds the two against each other and reports.
"""
