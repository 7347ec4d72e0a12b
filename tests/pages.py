"""What stands in a page, as a reader of its HTML finds it, without a browser."""

from __future__ import annotations

import json
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "link", "img", "rect", "path", "circle", "polyline", "polygon"}


class Page(HTMLParser):
    """Text, also by the id of its element, tables by theirs, facts by their term, tags, the script's data."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.texts, self.tables, self.facts, self.tags, self.scripts, self.text = {}, {}, {}, [], [], ""
        self._open, self._rows, self._term = [], None, ""
        self.feed(html)
        self.close()
        assert not self._open, f"not closed: {self._open}"
        self.data = json.loads(self.scripts[0])

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        self.texts.setdefault(attributes.get("id"), "")
        if tag not in VOID:
            self._open.append((tag, attributes.get("id")))
        if tag == "table":
            ids = [name for inner, name in self._open if inner in ("figure", "table") and name]
            self._rows = self.tables[ids[-1]] = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")
        elif tag == "dt":
            self._term = ""
        elif tag == "dd":
            self.facts[self._term] = ""
        elif tag == "script":
            self.scripts.append("")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self._open[-1][0] == tag, f"{tag} closes {self._open[-1]}"
        self._open.pop()

    def handle_data(self, data):
        tags = {tag for tag, _ in self._open}
        if "script" in tags:
            self.scripts[-1] += data
            return
        self.text += data
        for _, name in self._open:
            if name:
                self.texts[name] += data
        if tags & {"td", "th"}:
            self._rows[-1][-1] += data
        elif "dt" in tags:
            self._term += data
        elif "dd" in tags:
            self.facts[self._term] += data

    def column(self, title: str, own: bool = False) -> list:
        """Return the cells of a column of the table of all rows."""
        (found,) = [c for c in self.data["columns"] if c["title"] == title and c["own"] == own]
        return found["cells"]
