"""The base of queries that answer each row with its matches: near-duplicates, and near-vectors of skyband-vectors."""
