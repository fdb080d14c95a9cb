"""Answers the groups of any query: processors, and small groups that are held together."""
