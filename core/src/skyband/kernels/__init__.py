"""Compiled loops shared by core and plugins: the k-skyband, hashes, sorted arrays."""
