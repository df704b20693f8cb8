"""The programs of docs/c-client.md that call the library by foreign functions."""

import re

LINES_MAX = 40


def foreign_examples(page):
    """Returns the texts of these programs by their names. The names end in .py, .cjs and .rb. Checks that
    each text is short, as the page says."""
    found = dict(re.findall(r"<!-- example: (\S+\.(?:py|cjs|rb)) -->\n```\w+\n(.*?)```", page.read_text(encoding="utf-8"),
                            re.DOTALL))
    for name, text in found.items():
        assert len(text.splitlines()) <= LINES_MAX, name
    return found
