"""Sets that are alike in a sliding window: SWOOP and what its paper compares it with, and near-duplicates."""
