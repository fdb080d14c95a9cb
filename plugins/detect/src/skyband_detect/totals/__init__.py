"""What backends of key-total must do."""
