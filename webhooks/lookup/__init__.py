"""Where rules look other objects up.  Imports ``validators``, ``apiserver``, and of ``webhooks`` the settings and the log.

source         interface of the server to the lookups of its workers; a fixed set of objects
object_cache   objects of one kind as they were last listed and watched
watched        lookup from the API server: each kind listed once, then watched
"""
