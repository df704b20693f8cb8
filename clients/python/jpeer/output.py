"""What the launched peer writes goes where Python's own output goes, also in Jupyter."""

import codecs
import sys


class Output:
    """Takes the bytes of the peer's stdout (1) and stderr (2)."""

    def __init__(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {1: decoder("replace"), 2: decoder("replace")}

    def __call__(self, descriptor: int, data: bytes) -> None:
        stream = sys.stdout if descriptor == 1 else sys.stderr
        text = self._decoders[descriptor].decode(data)
        if stream is None or getattr(stream, "closed", False) or not text:
            return
        try:
            stream.write(text)
        except UnicodeEncodeError:  # a terminal of another encoding
            stream.write(text.encode("ascii", "backslashreplace").decode())
        stream.flush()
