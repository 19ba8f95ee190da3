"""`python -m tests.docs` puts fresh output into every page that quotes some."""

from tests.docs.quoted import PAGES, refreshed

for page in PAGES:
    page.write_text(refreshed(page))
