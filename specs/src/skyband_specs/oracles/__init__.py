"""The definitions by brute force, one module a role: slow and obvious."""
