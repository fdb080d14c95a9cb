"""Compiled loops that several rooms and plugins call: the k-skyband, hashes, sorted arrays."""
