"""The default of key-total: all values of the window, by key."""
