"""What authors and teachers use: the tables of pages, the map, grades of a class."""
