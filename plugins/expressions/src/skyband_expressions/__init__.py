"""Expressions on the columns of a row, in Spark's SQL, with Spark's own answers and without Spark.

`expression` is what others import; `sql_parser` reads text, `functions` lists what is known, and the modules of each
kind of value say what comes of it. What is not on the list is refused by its name.
"""
