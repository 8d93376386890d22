"""Devices that requests do not count: which devices the claims of several pods can have at the same time.

device_constraints  pods whose devices are not counted, and what they can have
"""
