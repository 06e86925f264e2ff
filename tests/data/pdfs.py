"""Small PDF files, written by hand."""

import zlib

Line = tuple[str, float, float]
"""A text, and where its baseline begins: in points from the lower left."""


def pdf(pages: list[list[Line]], *, rotate: int = 0, origin: tuple[float, float] = (0, 0)) -> bytes:
    """In Helvetica 12 on pages of 612 by 792 points."""
    left, low = origin
    box = f"[{left} {low} {left + 612} {low + 792}]".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    kids = []
    for lines in pages:
        code = "".join(f"BT /F1 12 Tf {x} {y} Td ({text}) Tj ET\n" for text, x, y in lines).encode("cp1252")
        packed = zlib.compress(code)
        objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(packed), packed))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox %b /Rotate %d /Resources << /Font << /F1 3 0 R >> >> "
            b"/Contents %d 0 R >>" % (box, rotate, len(objects))
        )
        kids.append(len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%b] /Count %d >>" % (b" ".join(b"%d 0 R" % kid for kid in kids), len(kids))
    return assembled(objects)


def locked() -> bytes:
    """One that says it is encrypted, with a password that nobody knows."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [] /Count 0 >>",
        b"<< /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <%b> /U <%b> >>" % (b"ab" * 32, b"cd" * 32),
    ]
    return assembled(objects, b"/Encrypt 3 0 R /ID [<00> <00>] ")


def assembled(objects: list[bytes], more: bytes = b"") -> bytes:
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"trailer\n<< /Size %d /Root 1 0 R %b>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, more, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n%b" % (len(objects) + 1, table) + end
