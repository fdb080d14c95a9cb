"""Kernels compiled before the workers of Spark need them."""
