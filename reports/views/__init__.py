"""Views of results: HTML, Markdown, JUnit XML, the terminal and others."""
