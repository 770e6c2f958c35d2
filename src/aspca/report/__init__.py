"""The report: one HTML file that says what was found, the same as JSON and as Markdown.

Decide, then draw: rows are collected while they are judged (`collect`, `evidence`), made into a summary of plain values
(`summarize`, `summary`), and only rendered from there (`page`, `pictures`, `documents`).
"""
