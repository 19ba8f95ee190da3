"""`python -m tests.docs` draws every drawing again, and puts fresh output into every page that quotes some."""

from tests.docs.drawings import DRAWINGS
from tests.docs.quoted import PAGES, ROOT, refreshed

for name, drawing in DRAWINGS.items():
    (ROOT / name).write_text(drawing())

for page in PAGES:
    page.write_text(refreshed(page))
