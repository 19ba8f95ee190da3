"""Plots of studies, with matplotlib (the extra `plot`): each function draws the document of one command."""
