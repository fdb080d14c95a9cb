"""A comparison as an HTML page: its contents, its charts, and how they are drawn."""

from skyband_compare.comparison.page.document import page

__all__ = ["page"]
