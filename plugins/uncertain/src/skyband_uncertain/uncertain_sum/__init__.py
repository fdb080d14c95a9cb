"""uncertain-sum: the sum of the last existing tuples, if tuples may not exist."""
