"""HTML that may be shown: a picture of data, and nothing that acts.

A model writes it, with the text of widgets and pages in mind that others wrote. So nothing in it may run, submit,
embed or fetch: an image at a foreign address would tell that address whatever the model put into it. Links are fine,
because a person has to click them. What browsers may read in another way than we do is refused as well.
"""

import re
from html.parser import HTMLParser

from rightseat.core.errors import BadAsk

LONGEST = 200_000

ACTING = frozenset(
    {
        "applet",
        "audio",
        "base",
        "embed",
        "form",
        "frame",
        "frameset",
        "iframe",
        "link",
        "meta",
        "object",
        "portal",
        "script",
        "source",
        "template",
        "track",
        "video",
    }
)
READ_OTHERWISE = frozenset(
    {"foreignobject", "math", "noembed", "noframes", "noscript", "plaintext", "textarea", "title", "xmp"}
)
"""What stands inside them is text to some parsers, and elements to others."""

CLICKED = frozenset({("a", "href"), ("area", "href")})
ADDRESSES = frozenset(
    {"action", "background", "cite", "data", "formaction", "href", "ping", "poster", "src", "srcset", "xlink:href"}
)
HARMLESS = re.compile(r"\s*(#|data:image/(png|jpe?g|gif|webp);)", re.IGNORECASE)
LINK = re.compile(r"\s*(https?:|mailto:|#)", re.IGNORECASE)
FETCHING = re.compile(r"@import|image-set|url\s*\(\s*['\"]?\s*(?!#|data:image/(?:png|jpe?g|gif|webp);)", re.IGNORECASE)


def check(html: str) -> None:
    """Raises `BadAsk`, with what would be right."""
    if len(html.encode()) > LONGEST:
        raise BadAsk(f"content is {len(html.encode()):,} bytes of HTML; at most {LONGEST:,} can be shown.")
    checker = _Checker()
    checker.feed(html)
    checker.close()


class _Checker(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._is_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ACTING or tag in READ_OTHERWISE:
            raise BadAsk(
                f"content has a <{tag}>, which is not shown. Use plain HTML with inline styles, or inline SVG."
            )
        self._is_style = tag == "style"
        for name, value in attrs:
            check_attribute(tag, name, value or "")

    def handle_endtag(self, tag: str) -> None:
        self._is_style = False

    def handle_data(self, data: str) -> None:
        if self._is_style:
            check_style(data)

    def handle_comment(self, data: str) -> None:
        if "<" in data or ">" in data:
            raise BadAsk("content has HTML inside a comment. Leave it out.")

    def handle_pi(self, data: str) -> None:
        raise BadAsk("content has a <?…>, which is no HTML. Leave it out.")

    def unknown_decl(self, data: str) -> None:
        raise BadAsk("content has a <![…]>, which is no HTML. Leave it out.")


def check_attribute(tag: str, name: str, value: str) -> None:
    if name.startswith("on") or name == "srcdoc":
        raise BadAsk(f"content has the attribute {name}, but nothing in it can run. Leave it out.")
    if name == "style":
        check_style(value)
    elif (tag, name) in CLICKED:
        if value.strip() and not LINK.match(value):
            raise BadAsk("A link must lead to an address that begins with https:, http: or mailto:.")
    elif name in ADDRESSES and value.strip() and not HARMLESS.match(value):
        raise BadAsk(f"<{tag}> has {name} with an address, but nothing is fetched. Use a data:image/… address, or SVG.")


def check_style(style: str) -> None:
    plain = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    if "\\" in plain or "<" in plain or FETCHING.search(plain):
        raise BadAsk("The styles must neither fetch (url, @import) nor have backslashes. Use colours and gradients.")
