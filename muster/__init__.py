"""The ``muster`` command: a module or package for each subcommand; the logic is in the other packages."""
