"""The command line: check, row, targets, and their reports."""
