"""The query mine: the sum of a column of whole numbers over a sliding window."""
