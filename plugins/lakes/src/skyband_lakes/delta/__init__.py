"""Delta Lake tables through the library deltalake."""
