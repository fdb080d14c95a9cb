"""A comparison as a page of HTML: what is on it, which pictures, and how they are drawn."""

from skyband_compare.comparison.page.document import page

__all__ = ["page"]
