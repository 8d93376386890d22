"""Tests of ``muster why``."""
