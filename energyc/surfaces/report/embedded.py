"""Pictures of a run as they stand in a page: the same pixels in a third of the bytes, where Pillow is at hand."""

from __future__ import annotations

import io
import warnings
from base64 import b64encode

#: A picture of more pixels stays as it is: what lies in a run folder may be anything.
MOST_PIXELS = 1 << 25


def embedded(png: bytes) -> str:
    """A ``data:`` address of a picture: lossless WebP, or the PNG itself where that is smaller or cannot be had."""
    smaller = _as_webp(png)
    kind, content = ("png", png) if smaller is None or len(smaller) >= len(png) else ("webp", smaller)
    return f"data:image/{kind};base64,{b64encode(content).decode()}"


def _as_webp(png: bytes) -> bytes | None:
    """The pixels of a PNG as lossless WebP; None without Pillow, and for what is no PNG of a reasonable size."""
    try:
        from PIL import Image
    except ImportError:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(png), formats=("PNG",)) as picture:
                if picture.width * picture.height > MOST_PIXELS:
                    return None
                kept = io.BytesIO()
                picture.save(kept, "webp", lossless=True, exact=True, method=2)
                return kept.getvalue()
    except Exception:  # a decoder may raise anything; the page has the picture as it is
        return None
