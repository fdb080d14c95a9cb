"""Uncertain streams: windows that know their tuples may not exist, and joins of tuples known by samples."""
