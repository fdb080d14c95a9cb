"""A job in this process: the engine, its run, and the sink it writes."""
