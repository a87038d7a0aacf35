"""What a right answer satisfies, one file for each exercise."""
