"""The course around the exercises: command line, checks, diagnoses, journal."""
