"""The front door: the ``muster`` command.  One module a subcommand; it joins the rooms and holds no logic of its own."""
