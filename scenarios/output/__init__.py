"""Files and folders that a command writes: whole or not at all, and nothing else touched."""
