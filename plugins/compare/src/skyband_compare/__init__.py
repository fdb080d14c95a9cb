"""Backends beside each other, and answers as pictures: the commands compare, bench and plot."""
