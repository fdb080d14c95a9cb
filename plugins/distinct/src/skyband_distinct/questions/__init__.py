"""What states of sketches answer: how many items, what two have in common, a theta sketch."""
