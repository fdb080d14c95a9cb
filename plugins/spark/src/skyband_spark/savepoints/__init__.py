"""The state of a stopped stream as a portable folder: taken, and begun from."""
