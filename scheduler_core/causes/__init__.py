"""Reasons as values: frozen, hashable, and without sentences; imports ``model`` only.

``wording`` turns them into text.  Objects of a namespace are a ``Name``; nodes, classes, requests and keys are named by a text.

changes      changes of a cluster that a remedy makes, and limits of the search for them
constraints  constraints that conflict
"""
