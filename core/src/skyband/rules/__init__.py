"""Rules: what is asked of all groups comes, changes and goes while it runs."""
