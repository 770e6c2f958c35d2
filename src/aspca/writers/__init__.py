"""Outputs: files and folders that are replaced as a whole or not at all, and what is written into them."""
