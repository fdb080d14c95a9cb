"""What users set: parameters with their bounds, and lengths of time or rows."""
