"""A program for each role, with its default backend in it: run on the page of every backend, under that one's name."""
