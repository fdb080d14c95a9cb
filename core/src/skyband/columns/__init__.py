"""Converts Arrow columns to numpy arrays and back: frames, hashes, ids, numbers, token sets, samples."""
