"""The state of a stopped stream as a portable folder: saving it, and starting from it."""
