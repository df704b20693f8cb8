"""What the launched peer writes goes where Python's own output goes, also in Jupyter."""

import codecs
import sys

READY_LINE = "jpeer ready: "


class Output:
    """Takes the bytes of the peer's stdout (1) and stderr (2)."""

    def __init__(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {1: decoder("replace"), 2: decoder("replace")}
        self._start: str | None = ""  # of stderr, before the line that says that the peer is ready

    def __call__(self, descriptor: int, data: bytes) -> None:
        stream = sys.stdout if descriptor == 1 else sys.stderr
        text = self._decoders[descriptor].decode(data)
        if descriptor == 2 and self._start is not None:
            text = self._without_ready_line(self._start + text)
        if stream is None or getattr(stream, "closed", False) or not text:
            return
        try:
            stream.write(text)
        except UnicodeEncodeError:  # a terminal of another encoding
            stream.write(text.encode("ascii", "backslashreplace").decode())
        stream.flush()

    def _without_ready_line(self, text: str) -> str:
        """The line is for those who start peers by hand."""
        whole, newline, self._start = text.rpartition("\n")
        lines = whole.split("\n") if newline else []
        for place, line in enumerate(lines):
            if line.startswith(READY_LINE):
                text, self._start = "\n".join([*lines[:place], *lines[place + 1 :], self._start]), None
                return text
        return "".join(f"{line}\n" for line in lines)
