"""What every backend of the role mine must do: imported only by skyband-specs."""
