"""The tests of the house: every claim that the code makes, held."""
