"""Sanitises HTML written by a model: the result runs, submits, embeds and fetches nothing.

nh3 parses like a browser and keeps only the lists below. An image at a foreign URL would leak data to it; links stay,
because a person has to click them. It runs in a child process, because some 200 KB of HTML take seconds or gigabytes to
parse.
"""

import re
from collections.abc import Callable
from functools import cache

import msgspec
import nh3

from rightseat.core.errors import UnreadableFile
from rightseat.data.child import Child, ChildFailed

MAX_BYTES = 200_000
MAX_SMALL_BYTES = 20_000
MAX_SMALL_ELEMENTS = 200  # 100 elements repeated by a browser in each of 100 paragraphs become 10,000
MEMORY_BYTES = 512 * 2**20  # of address space
CPU_SECONDS = 2.0
TIMEOUT_S = 10.0  # including the start of the child
MAX_PASSES = 4
MAX_LISTED = 12  # elements and attributes in the message to the model


def split_words(text: str) -> set[str]:
    return {*text.split()}


TAGS = split_words("""
    a abbr address article aside b bdi bdo blockquote br caption cite code col colgroup data dd del details dfn
    div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark meter nav
    ol p pre progress q rp rt ruby s samp section small span strong sub summary sup table tbody td tfoot th
    thead time tr u ul var wbr svg circle clipPath defs desc ellipse g line linearGradient marker path pattern
    polygon polyline radialGradient rect stop text title tspan
""")

REMOVED_WITH_CONTENT = split_words("""
    audio canvas embed foreignObject iframe math noembed noframes noscript object plaintext script select style template
    textarea video xmp
""")
"""Elements removed with their content; of other removed elements, the text stays."""

TEXT_ATTRIBUTES = split_words("alt class datetime dir face id lang rel role summary target title value xlink xmlns")
"""Attributes whose value is only text to a browser."""

ATTRIBUTES = {
    "*": split_words("""
        class dir id lang role style title align bgcolor height valign width xmlns clip-path clip-rule color cx
        cy d direction display dominant-baseline dx dy fill fill-opacity fill-rule font-family font-size
        font-style font-variant font-weight fr fx fy gradientTransform gradientUnits letter-spacing marker-end
        marker-mid marker-start markerHeight markerUnits markerWidth clipPathUnits offset opacity orient
        paint-order pathLength patternContentUnits patternTransform patternUnits points preserveAspectRatio r
        refX refY rotate rx ry shape-rendering spreadMethod stop-color stop-opacity stroke stroke-dasharray
        stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity stroke-width
        text-anchor text-decoration text-rendering textLength lengthAdjust alignment-baseline baseline-shift
        transform vector-effect version viewBox visibility word-spacing writing-mode x x1 x2 xlink y y1 y2
    """),
    "a": {"href"},
    "col": {"span"},
    "colgroup": {"span"},
    "data": {"value"},
    "del": {"datetime"},
    "details": {"open"},
    "font": {"size", "face"},
    "img": {"src", "alt"},
    "ins": {"datetime"},
    "li": {"value"},
    "meter": split_words("value min max low high optimum"),
    "ol": {"start", "reversed", "type"},
    "progress": {"value", "max"},
    "table": {"border", "cellpadding", "cellspacing", "summary"},
    "td": {"colspan", "rowspan", "headers"},
    "th": {"colspan", "rowspan", "headers", "scope"},
    "time": {"datetime"},
    "ul": {"type"},
}

STYLES = split_words("""
    align-content align-items align-self aspect-ratio background background-color background-image
    background-position background-repeat background-size border border-bottom border-bottom-color
    border-bottom-left-radius border-bottom-right-radius border-bottom-style border-bottom-width border-collapse
    border-color border-left border-left-color border-left-style border-left-width border-radius border-right
    border-right-color border-right-style border-right-width border-spacing border-style border-top
    border-top-color border-top-left-radius border-top-right-radius border-top-style border-top-width
    border-width box-shadow box-sizing break-inside caption-side clear color column-count column-gap column-rule
    display fill fill-opacity flex flex-basis flex-direction flex-flow flex-grow flex-shrink flex-wrap float
    font font-family font-feature-settings font-size font-style font-variant
    font-variant-numeric font-weight gap grid-area grid-auto-columns grid-auto-flow grid-auto-rows grid-column
    grid-column-end grid-column-start grid-row grid-template grid-template-columns grid-template-rows height
    hyphens justify-content justify-items justify-self letter-spacing line-height list-style list-style-type
    list-style-position margin margin-bottom margin-left margin-right margin-top max-height max-width
    min-height min-width object-fit opacity order outline overflow overflow-wrap overflow-x overflow-y padding
    padding-bottom padding-left padding-right padding-top row-gap stop-color stop-opacity stroke
    stroke-dasharray stroke-opacity stroke-width table-layout tab-size text-align text-anchor text-decoration
    text-indent text-overflow text-shadow text-transform vertical-align visibility white-space width word-break
    word-spacing word-wrap
""")
"""No `position`, `z-index`, `transform` or `animation`: a card stays in its place."""

FUNCTIONS = split_words("""
    calc clamp color-mix conic-gradient fit-content hsl hsla hwb lab lch linear-gradient matrix max min minmax oklab
    oklch radial-gradient repeat repeating-conic-gradient repeating-linear-gradient repeating-radial-gradient rgb rgba
    rotate scale skewx skewy translate
""") | {""}
"""Functions allowed in styles and SVG attributes. `url` is not."""

LINK = re.compile(r"[\x00-\x20]*(https?:|mailto:|#)", re.IGNORECASE)
IMAGE = re.compile(r"data:image/(png|jpe?g|gif|webp);base64,[a-z0-9+/=\s]*", re.IGNORECASE)
PLAIN_VALUE = re.compile(r"[\w\s#%.,+\-*/()!'\"]*")
LOCAL_URL = re.compile(r"url\(#[\w-]+\)")
FUNCTION_NAME = re.compile(r"[\w-]*$")
START_TAG = re.compile(r"<([a-zA-Z][^\s/>]*)")


CheckAttribute = Callable[[str, str, str], tuple[str | None, list[str]]]


class SanitizeRequest(msgspec.Struct):
    """The payload is the HTML."""


class SanitizedHtml(msgspec.Struct, frozen=True):
    """`removed` names elements and attributes, at most `MAX_LISTED`, and how many more there were."""

    html: str
    removed: tuple[str, ...] = ()


async def sanitize(html: str) -> SanitizedHtml:
    """Raise `UnreadableFile` if the HTML is too long, too expensive to parse, or nothing of it is left."""
    check_length(html)
    child = Child("rightseat.data.sanitizer", MEMORY_BYTES, CPU_SECONDS)
    try:
        return await child.ask(SanitizeRequest(), SanitizedHtml, TIMEOUT_S, html)
    except ChildFailed as lost:
        raise UnreadableFile(f"The HTML cannot be shown: checking it {lost}. Nest fewer elements.") from None
    finally:
        await child.aclose()


def sanitize_small(html: str) -> SanitizedHtml:
    """Without a child process, for HTML that takes at most some 50 ms. Raise `UnreadableFile`."""
    check_length(html, MAX_SMALL_BYTES)
    if (count := len(START_TAG.findall(html))) > MAX_SMALL_ELEMENTS:
        raise UnreadableFile(f"The HTML has {count:,} elements; at most {MAX_SMALL_ELEMENTS} can be shown here.")
    return clean(html.encode("utf-8", "replace").decode())


def check_length(html: str, max_bytes: int = MAX_BYTES) -> None:
    if (size := len(html.encode("utf-8", "replace"))) > max_bytes:
        raise UnreadableFile(f"The HTML has {size:,} bytes; at most {max_bytes:,} can be shown.")


def build() -> Callable[[bytes, bytes], SanitizedHtml]:
    return lambda request, payload: clean(payload.decode())


def clean(html: str) -> SanitizedHtml:
    """Raises `UnreadableFile`."""
    removed = dict.fromkeys(
        f"<{name[:40]}>" for name in map(str.lower, START_TAG.findall(html)) if name not in LOWER_TAGS
    )
    check = cache(check_attribute)  # browsers may repeat one element thousands of times
    note_attributes(html, check, removed)
    cleaned = keep_allowed(html, check)
    for _ in range(MAX_PASSES):  # until parsing the result gives the same elements
        check_length(cleaned)
        before, cleaned = cleaned, keep_allowed(cleaned, check)
        if before == cleaned:
            break
    else:
        raise UnreadableFile("The HTML cannot be shown: it can be read in several ways. Nest and close its elements.")
    if not cleaned.strip():
        listed = f" Removed: {', '.join(list_removed(removed))}." if removed else ""
        raise UnreadableFile(f"Nothing of the HTML can be shown.{listed} {ALLOWED}")
    return SanitizedHtml(cleaned, list_removed(removed))


def keep_allowed(html: str, check: CheckAttribute) -> str:
    def keep(tag: str, name: str, value: str) -> str | None:
        try:
            kept, _ = check(tag, name, value)
            return kept
        except Exception:  # nh3 would keep the attribute
            return None

    return nh3.clean(
        html,
        tags=TAGS,
        clean_content_tags=REMOVED_WITH_CONTENT,
        attributes=ATTRIBUTES,
        generic_attribute_prefixes={"aria-"},
        attribute_filter=keep,
        link_rel="noopener noreferrer",
        tag_attribute_values={"a": {"target": {"_blank"}}},
        url_schemes={"http", "https", "mailto", "data"},
    )  # not filter_style_properties, which drops the arguments of functions within functions


def note_attributes(html: str, check: CheckAttribute, removed: dict[str, None]) -> None:
    """Collect removed attributes with `attribute_filter`; its result is not used here."""

    def note(tag: str, name: str, value: str) -> str:
        is_listed = name in ATTRIBUTES["*"] or name in ATTRIBUTES.get(tag, ()) or name.startswith("aria-")
        if tag in TAGS and name not in ("rel", "target"):
            removed.update(dict.fromkeys(check(tag, name, value)[1] if is_listed else [f"{name[:40]} of <{tag}>"]))
        return value

    schemes = {"http", "https", "mailto", "data", "javascript", "vbscript", "file", "ftp"}
    prefixes = {""}  # of any name
    nh3.clean(
        html, tags=TAGS, attributes={}, generic_attribute_prefixes=prefixes, attribute_filter=note, url_schemes=schemes
    )


def check_attribute(tag: str, name: str, value: str) -> tuple[str | None, list[str]]:
    """The allowed part of a listed attribute, and the names of the removed parts."""
    if name == "style":
        return check_style(tag, value)
    if name == "href":
        is_kept = LINK.match(value) is not None or not value.strip()
    elif name == "src":
        is_kept = IMAGE.fullmatch(value.strip()) is not None
    else:
        is_kept = name in TEXT_ATTRIBUTES or name.startswith("aria-") or is_plain(value)
    return (value, []) if is_kept else (None, [f"{name} of <{tag}>"])


def check_style(tag: str, style: str) -> tuple[str | None, list[str]]:
    kept, dropped = [], []
    for declaration in re.sub(r"/\*.*?(?:\*/|\Z)", " ", style, flags=re.DOTALL).split(";"):
        name, colon, value = declaration.partition(":")
        name = name.strip().lower()
        if colon and name in STYLES and is_plain(value):
            kept.append(f"{name}:{value.strip()}")
        elif declaration.strip():
            dropped.append(f"style {name[:40]} of <{tag}>")
    return ";".join(kept) or None, dropped


def is_plain(value: str) -> bool:
    """No URL, escape, comment or unlisted function; `url(#name)` refers to the same image."""
    rest = LOCAL_URL.sub(" ", value)
    return (
        PLAIN_VALUE.fullmatch(rest) is not None
        and "/*" not in rest
        and "//" not in rest
        and rest.count('"') % 2 == rest.count("'") % 2 == 0
        and rest.count("(") == rest.count(")")
        and all(function_before(before) in FUNCTIONS for before in rest.split("(")[:-1])
    )


def function_before(before: str) -> str:
    """The lower-case function name before a parenthesis, or an empty string."""
    found = FUNCTION_NAME.search(before.rstrip()[-40:])
    return found.group().lower() if found else ""


def list_removed(removed: dict[str, None]) -> tuple[str, ...]:
    names = [*removed][:MAX_LISTED]
    more = len(removed) - len(names)
    return (*names, f"and {more:,} more") if more else tuple(names)


LOWER_TAGS = frozenset(map(str.lower, TAGS))
ALLOWED = (
    "Text, tables, lists, links, inline SVG and inline styles are shown; scripts, forms, <style>, positions and what is"
    " fetched are not."
)
