"""The pictures of a report: SVG written from numbers, always the same for the same numbers.

Colours come from classes that the page's stylesheet knows, in light and in dark.
"""
