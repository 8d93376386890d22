"""Tests of ``make release`` and of the files that it builds."""
