"""Delta Lake tables, with the library deltalake."""
