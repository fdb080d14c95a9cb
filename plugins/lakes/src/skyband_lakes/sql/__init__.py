"""Tables of SQL databases through SQLAlchemy."""
