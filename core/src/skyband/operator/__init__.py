"""One query running, whatever the engine: its groups, their processors, and its state."""
