"""Tests of the checks of ``muster doctor``."""
