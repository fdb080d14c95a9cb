"""The tables of a job file as classes, and where their data is."""
