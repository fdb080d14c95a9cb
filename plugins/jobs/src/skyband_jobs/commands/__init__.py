"""Commands of the `skyband` command line, one a module, imported when the commands of plugins are listed."""
