"""Yesterday's API in manifests becomes today's: what changes in an object, and how the text around it is kept.

``objects`` and ``references`` say what must change, ``groups`` which PodGroups must be made, ``change`` what that comes to
in JSON, ``rewrite`` in the text; ``run`` holds the two against each other and reports.
"""
