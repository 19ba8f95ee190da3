"""`python -m tessbed` is the command line."""

from tessbed.cli import main

if __name__ == "__main__":
    main()
