// From a file, a page may not fetch another: search results then come without their summaries.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
