"""The subcommands of `skyband` for authors, one a module, imported when the commands of plugins are listed."""
