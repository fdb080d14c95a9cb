"""Tables of SQL databases, with SQLAlchemy."""
