"""Small groups of a query, held in shared columns and answered together: their host, table, store and passes."""
