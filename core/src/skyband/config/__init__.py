"""What a user sets: parameters with their bounds, and lengths of time or rows."""
