"""The ``muster`` command: a module or package for each subcommand, without logic of its own."""
