"""The operator on Spark: in batch inside mapInArrow, in streams inside transformWithState."""
