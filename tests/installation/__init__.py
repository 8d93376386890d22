"""Installation: extras, the wheel in fresh virtual environments, and conflicting packages of other distributions."""
