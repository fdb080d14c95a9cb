"""The port of a service: questions about its states, its answers, its health and its metrics over HTTP, read only."""
