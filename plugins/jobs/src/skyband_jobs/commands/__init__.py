"""The subcommands of `skyband` for jobs, one a module, imported when the commands of plugins are listed."""
