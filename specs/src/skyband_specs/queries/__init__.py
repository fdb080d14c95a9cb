"""What every query must do, whatever it asks: checks of any Query class on the examples that its plugin gives."""

from skyband_specs.queries.runner import query_subject, verify_query, verify_query_subject

__all__ = ["query_subject", "verify_query", "verify_query_subject"]
