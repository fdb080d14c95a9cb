"""Templates of `skyband new`: one small, correct backend for each role, checked like any other."""
