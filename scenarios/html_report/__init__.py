"""Reports: a run or a study as one HTML file, readable offline, on paper and without a script."""
