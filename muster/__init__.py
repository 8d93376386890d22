"""The ``muster`` command: a module or package for each subcommand; the logic is in the other packages.

cli              the ``muster`` command: a list of subcommands, each imported only when it is called
document         generator of documentation: the page of rules, and the pages of ``docs/reference``
extras           optional dependencies: the extras of the distribution, and the libraries that each installs
library_messages warnings and log records of libraries, which do not reach the terminal
reference        pages of the documentation that are generated from the code: commands, settings, metrics, conditions
standard_output  standard output whose errors name it, so that a full disk is reported in one line
"""

__version__ = "0.1.0"
"""Version, as in pyproject.toml; the metadata of the distribution takes longer to read than most commands run."""
