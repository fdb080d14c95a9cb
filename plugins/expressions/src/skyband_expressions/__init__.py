"""Evaluates Spark SQL expressions on the columns of a row, with Spark's results but without Spark.

Import `expression`. `sql_parser` parses text, `functions` lists the supported functions, and a module per kind of value
implements them. Functions that are not listed are refused by name.
"""
