"""The reference in Markdown, read from the registry: a page a role, backend and query, and those of jobs and errors."""

from skyband_specs.reference.site import Pages, all_pages

__all__ = ["Pages", "all_pages"]
