"""Large experiments, one module a role: streams of thousands of rows with a fast oracle each.

An oracle's answers do not depend on the backend, so that they are found once a process and shared.
"""
