"""The model's copy of a picture: a PNG or JPEG that every server takes, and no larger than it needs.

Another type, and a picture that is too large, takes Pillow, which matplotlib brings along.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import io
from typing import Any

from nbtools.messages import Picture
from nbtools.sight import LARGEST, TYPES, is_whole, mended, picture_type, size_of

_MODES = frozenset({"L", "RGB", "RGBA"})
_NO_PICTURE = "its content is no PNG, JPEG, GIF or WebP"
_NO_PILLOW = "making it smaller, or a PNG of it, takes Pillow, which is not installed"
_QUALITY = 85


def copy_of(data: str, pixels: int) -> Picture | str:
    """Make the copy of a picture that a model is given.

    Args:
        data: The picture as base64 text.
        pixels: How long its longer side may be.

    Returns:
        The copy, or why there is none, as the end of a sentence.
    """
    try:
        content = mended(base64.b64decode("".join(data.split()), validate=True))
    except (binascii.Error, ValueError):
        return "its data are no base64"
    if not picture_type(content):
        return _NO_PICTURE
    if _is_fine(content, pixels):
        return _picture(content)
    try:
        return _picture(_drawn_again(content, pixels))
    except ImportError:
        return _NO_PILLOW
    except Exception as error:  # noqa: BLE001 - the picture may be broken in any way
        return f"it is broken ({type(error).__name__})"


def _is_fine(content: bytes, pixels: int) -> bool:
    """Say whether a picture can be sent as it is."""
    size = size_of(content)
    if picture_type(content) not in TYPES or size is None or len(content) > LARGEST:
        return False
    return min(size) > 0 and max(size) <= pixels and is_whole(content)


def _picture(content: bytes) -> Picture:
    width, height = size_of(content) or (0, 0)
    data = base64.b64encode(content).decode()
    return Picture(mime=picture_type(content), width=width, height=height, data=data)


def _drawn_again(content: bytes, pixels: int) -> bytes:
    """Draw a picture smaller: as a PNG, or as a JPEG where that would be too large."""
    module = importlib.import_module("PIL.Image")
    image = module.open(io.BytesIO(content))
    image.thumbnail((pixels, pixels))
    image = importlib.import_module("PIL.ImageOps").exif_transpose(image)
    if image.mode not in _MODES:
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    drawn = _saved(image, "PNG")
    if len(drawn) <= LARGEST:
        return drawn
    image = _on_white(image, module)
    while len(drawn := _saved(image, "JPEG", quality=_QUALITY)) > LARGEST:
        image = image.reduce(2)
    return drawn


def _on_white(image: Any, module: Any) -> Any:
    if image.mode != "RGBA":
        return image
    paper = module.new("RGB", image.size, "white")
    paper.paste(image, mask=image.getchannel("A"))
    return paper


def _saved(image: Any, kind: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format=kind, **options)
    return buffer.getvalue()
