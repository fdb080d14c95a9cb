"""What states of quantile sketches answer: quantiles, and shares of rows above a number."""
