"""Checks of every query: of any Query class on its plugin's examples."""

from skyband_specs.queries.runner import query_subject, verify_query, verify_query_subject

__all__ = ["query_subject", "verify_query", "verify_query_subject"]
