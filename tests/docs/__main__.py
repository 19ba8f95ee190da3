"""`python -m tests.docs` draws every drawing, executes the notebook, and renews every output that a page quotes."""

from tests.docs.drawings import DRAWINGS
from tests.docs.notebook import NOTEBOOK, write_executed
from tests.docs.quoted import PAGES, ROOT, refreshed

for name, drawing in DRAWINGS.items():
    (ROOT / name).write_text(drawing())

write_executed(NOTEBOOK)
for page in PAGES:
    page.write_text(refreshed(page))
