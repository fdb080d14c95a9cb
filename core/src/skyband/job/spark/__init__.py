"""A job on Spark: the engine, its session, its run as a batch or a stream."""
