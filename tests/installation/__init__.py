"""Muster as it is installed: its extras, its wheel in fresh virtual environments, packages of other distributions beside it."""
