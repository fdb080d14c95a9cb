"""Jobs in this process: the engine, a run, and its sinks."""
