"""A program for each role with its default backend; each backend's page runs it under its own name."""
