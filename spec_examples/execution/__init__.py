"""Execute the examples of pages against a target: blocks, rows of tables, and claims about releases."""
