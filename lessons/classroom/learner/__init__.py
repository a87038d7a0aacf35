"""What a learner uses: the report of a check, progress, hints, the reference answer."""
