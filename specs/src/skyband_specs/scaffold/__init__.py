"""What `skyband new` starts a plugin from: one small, correct backend for each role, checked like any other."""
