"""Manifests in files: reading them, judging them all together, hiding what is meant to be hidden.

``documents`` reads the bytes of one file, ``lint_files`` judges what was read, ``suppress`` takes out what annotations and
comments hide, ``finding`` holds the outcome.  Only ``files`` touches the file system.
"""
