"""The operator on Spark: inside mapInArrow for batches, inside transformWithState for streams."""
