"""Text for people from the values of ``causes``; imports ``model`` and ``causes`` only.

Only the facade, ``sidecar`` and ``muster`` import it.  A parameter *shown* turns the name of an object into text.

titles       names of objects, domains and taints
changes      changes, remedies, and limits of the search for them
constraints  conflicting constraints
"""
