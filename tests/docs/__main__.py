"""`python -m tests.docs [PAGE...]` renews what pages quote; without a page, drawings and the notebook as well."""

import argparse
from pathlib import Path

from tests.docs.drawings import DRAWINGS
from tests.docs.notebook import NOTEBOOK, write_executed
from tests.docs.quoted import PAGES, ROOT, refreshed

parser = argparse.ArgumentParser(prog="python -m tests.docs", description="Renew what the documentation quotes.")
parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="such as docs/check.md; default: everything")
pages = [page.resolve() for page in parser.parse_args().pages]
if strangers := [str(page) for page in pages if page not in PAGES]:
    parser.error(f"{', '.join(strangers)}: no page whose examples are renewed here; `make docs` renews all")

if not pages:
    for name, drawing in DRAWINGS.items():
        (ROOT / name).write_text(drawing())
    write_executed(NOTEBOOK)
for page in pages or PAGES:
    page.write_text(refreshed(page))
