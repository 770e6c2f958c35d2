"""The report: one HTML file that says what was found, the same as JSON and as Markdown.

Decide, then draw: rows are gathered while they are judged (`gathering`), made into a summary of plain values
(`summary`), and only rendered from there (`page`, `document`, `markdown`).
"""
