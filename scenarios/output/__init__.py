"""What a command writes: tables as text, and files and folders, complete or not at all."""
