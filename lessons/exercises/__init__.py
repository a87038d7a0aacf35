"""The exercises, one file each: task, answer, mistakes, questions, check, hints."""
