"""matcher/frozen-matcher: every sample of a probe against every sample held."""
