"""Compiles kernels before the workers of Spark need them."""
