"""The pages of docs/: their commands are run, their examples tried, their links followed."""
