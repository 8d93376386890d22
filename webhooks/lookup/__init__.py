"""Lookup of other objects by rules.

Imports ``validators``, ``workloadbuilder``, ``apiserver``, and from ``webhooks`` the settings and the log.

source         interface of the server to the lookups of its workers; a fixed set of objects
object_cache   cache of the objects of one kind
watched        caches that list and watch the API server
"""
