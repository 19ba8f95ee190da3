"""Files and folders that a command writes: complete or not at all, and no other file is changed."""
