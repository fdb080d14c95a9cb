"""The role mine: the mean of whole numbers since any moment."""
