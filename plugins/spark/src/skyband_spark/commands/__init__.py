"""The subcommands of `skyband` for Spark, one a module, imported when the commands of plugins are listed."""
