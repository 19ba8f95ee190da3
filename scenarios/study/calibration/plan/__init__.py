"""Plan: which experiments a board should run, what they will determine, and the files to run them with."""
