"""Quantiles of any sliding window for Skyband."""
