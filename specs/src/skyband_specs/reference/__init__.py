"""The reference in Markdown, from the registry: pages for roles, backends and queries, jobs and errors."""

from skyband_specs.reference.site import Pages, all_pages

__all__ = ["Pages", "all_pages"]
