"""The sections of the report of a run, one module each: values in, markup out."""
