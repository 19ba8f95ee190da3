"""`python -m tessbed` is the command line.

Python looks for modules in the folder that it is started in, first of all. There a kernel of one's own may be called
`copy.py`, and would take the place of the standard library's module of that name: so that folder is left out, as it is
for the command `tessbed`, unless tessbed itself comes from there.
"""

import os
import sys

if sys.path[0] == os.getcwd() != os.path.dirname(os.path.dirname(__file__)):
    del sys.path[0]

from tessbed.cli import main

if __name__ == "__main__":
    main()
