"""Commands of the `skyband` command line, one per module, imported when plugin commands are listed."""
