"""What runs the course: the command line, the checks, the learner's journal."""
