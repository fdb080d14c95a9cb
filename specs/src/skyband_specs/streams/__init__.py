"""Stream generators, one module a role, the papers' own among them."""
