"""The command line: its commands, the experiments they run, and the benchmark."""
