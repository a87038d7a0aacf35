"""Where the data come from: one task a file."""
