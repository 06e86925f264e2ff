"""HTML that a model wrote → HTML that can be shown to a person: it runs, submits, embeds and fetches nothing.

nh3 parses it as a browser does and keeps only what is on the lists below; an image at a foreign address would tell
that address whatever the model put into it. Links stay, because a person has to click them. It runs in a child process,
because some 200 KB take seconds to parse, or gigabytes.
"""

import re
from collections.abc import Callable
from functools import cache

import msgspec
import nh3

from rightseat.core.errors import Unreadable
from rightseat.data.child import Child, Lost

MAX_BYTES = 200_000
MAX_SMALL_BYTES = 20_000
MAX_SMALL_ELEMENTS = 200  # 100 that a browser repeats in each of 100 paragraphs become 10,000
MEMORY_BYTES = 512 * 2**20  # of address space
CPU_SECONDS = 2.0
TIMEOUT = 10.0  # seconds, with the start of the child
MAX_PASSES = 4
MAX_NAMED = 12  # elements and attributes that are named to the model


def words(text: str) -> set[str]:
    return {*text.split()}


TAGS = words("""
    a abbr address article aside b bdi bdo blockquote br caption cite code col colgroup data dd del details dfn
    div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark meter nav
    ol p pre progress q rp rt ruby s samp section small span strong sub summary sup table tbody td tfoot th
    thead time tr u ul var wbr svg circle clipPath defs desc ellipse g line linearGradient marker path pattern
    polygon polyline radialGradient rect stop text title tspan
""")

WITH_CONTENT = words("""
    audio canvas embed foreignObject iframe math noembed noframes noscript object plaintext script select style template
    textarea video xmp
""")
"""Elements that are removed with all that is in them; of others, the text stays."""

TEXTS = words("alt class datetime dir face id lang rel role summary target title value xlink xmlns")
"""Attributes whose value a browser takes for nothing but a text."""

ATTRIBUTES = {
    "*": words("""
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
    "meter": words("value min max low high optimum"),
    "ol": {"start", "reversed", "type"},
    "progress": {"value", "max"},
    "table": {"border", "cellpadding", "cellspacing", "summary"},
    "td": {"colspan", "rowspan", "headers"},
    "th": {"colspan", "rowspan", "headers", "scope"},
    "time": {"datetime"},
    "ul": {"type"},
}

STYLES = words("""
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
"""Without `position`, `z-index`, `transform` and `animation`: a card stays where it is shown."""

FUNCTIONS = words("""
    calc clamp color-mix conic-gradient fit-content hsl hsla hwb lab lch linear-gradient matrix max min minmax oklab
    oklch radial-gradient repeat repeating-conic-gradient repeating-linear-gradient repeating-radial-gradient rgb rgba
    rotate scale skewx skewy translate
""") | {""}
"""What may stand before a parenthesis in a style, or in an attribute of SVG. `url` may not."""

LINK = re.compile(r"[\x00-\x20]*(https?:|mailto:|#)", re.IGNORECASE)
IMAGE = re.compile(r"data:image/(png|jpe?g|gif|webp);base64,[a-z0-9+/=\s]*", re.IGNORECASE)
PLAIN = re.compile(r"[\w\s#%.,+\-*/()!'\"]*")
LOCAL = re.compile(r"url\(#[\w-]+\)")
CALLED = re.compile(r"[\w-]*$")
TAG = re.compile(r"<([a-zA-Z][^\s/>]*)")


Judge = Callable[[str, str, str], tuple[str | None, list[str]]]


class Sanitize(msgspec.Struct):
    """The payload is the HTML."""


class Clean(msgspec.Struct, frozen=True):
    """`removed` names elements and attributes, at most `MAX_NAMED`, and how many more there were."""

    html: str
    removed: tuple[str, ...] = ()


async def sanitize(html: str) -> Clean:
    """Raises `Unreadable`: the HTML is too long, too expensive to parse, or nothing of it is left."""
    check_length(html)
    child = Child("rightseat.data.sanitizer", MEMORY_BYTES, CPU_SECONDS)
    try:
        return await child.ask(Sanitize(), Clean, TIMEOUT, html)
    except Lost as lost:
        raise Unreadable(f"The HTML cannot be shown: checking it {lost}. Nest fewer elements.") from None
    finally:
        await child.aclose()


def sanitize_small(html: str) -> Clean:
    """Without a child, for HTML that takes at most some 50 ms. Raises `Unreadable`."""
    check_length(html, MAX_SMALL_BYTES)
    if (count := len(TAG.findall(html))) > MAX_SMALL_ELEMENTS:
        raise Unreadable(f"The HTML has {count:,} elements; at most {MAX_SMALL_ELEMENTS} can be shown here.")
    return clean(html.encode("utf-8", "replace").decode())


def check_length(html: str, most: int = MAX_BYTES) -> None:
    if (size := len(html.encode("utf-8", "replace"))) > most:
        raise Unreadable(f"The HTML has {size:,} bytes; at most {most:,} can be shown.")


def build() -> Callable[[bytes, bytes], Clean]:
    return lambda request, payload: clean(payload.decode())


def clean(html: str) -> Clean:
    """Raises `Unreadable`."""
    removed = dict.fromkeys(f"<{name[:40]}>" for name in map(str.lower, TAG.findall(html)) if name not in LOWER_TAGS)
    judge = cache(judge_attribute)  # one attribute may become thousands, where a browser repeats its element
    note_attributes(html, judge, removed)
    cleaned = keep_allowed(html, judge)
    for _ in range(MAX_PASSES):  # until a browser that reads it anew sees the same elements
        check_length(cleaned)
        before, cleaned = cleaned, keep_allowed(cleaned, judge)
        if before == cleaned:
            break
    else:
        raise Unreadable("The HTML cannot be shown: it can be read in several ways. Nest and close its elements.")
    if not cleaned.strip():
        named = f" Removed: {', '.join(name_some(removed))}." if removed else ""
        raise Unreadable(f"Nothing of the HTML can be shown.{named} {ALLOWED}")
    return Clean(cleaned, name_some(removed))


def keep_allowed(html: str, judge: Judge) -> str:
    def keep(tag: str, name: str, value: str) -> str | None:
        try:
            kept, _ = judge(tag, name, value)
            return kept
        except Exception:  # nh3 would keep the attribute
            return None

    return nh3.clean(
        html,
        tags=TAGS,
        clean_content_tags=WITH_CONTENT,
        attributes=ATTRIBUTES,
        generic_attribute_prefixes={"aria-"},
        attribute_filter=keep,
        link_rel="noopener noreferrer",
        tag_attribute_values={"a": {"target": {"_blank"}}},
        url_schemes={"http", "https", "mailto", "data"},
    )  # not filter_style_properties, which drops the arguments of functions within functions


def note_attributes(html: str, judge: Judge, removed: dict[str, None]) -> None:
    """Every attribute is shown to `attribute_filter`, whose result is not used here."""

    def note(tag: str, name: str, value: str) -> str:
        is_listed = name in ATTRIBUTES["*"] or name in ATTRIBUTES.get(tag, ()) or name.startswith("aria-")
        if tag in TAGS and name not in ("rel", "target"):
            removed.update(dict.fromkeys(judge(tag, name, value)[1] if is_listed else [f"{name[:40]} of <{tag}>"]))
        return value

    schemes = {"http", "https", "mailto", "data", "javascript", "vbscript", "file", "ftp"}
    prefixes = {""}  # of any name
    nh3.clean(
        html, tags=TAGS, attributes={}, generic_attribute_prefixes=prefixes, attribute_filter=note, url_schemes=schemes
    )


def judge_attribute(tag: str, name: str, value: str) -> tuple[str | None, list[str]]:
    """What is kept of an attribute that is on the list, and the names of what is not."""
    if name == "style":
        return judge_style(tag, value)
    if name == "href":
        is_kept = LINK.match(value) is not None or not value.strip()
    elif name == "src":
        is_kept = IMAGE.fullmatch(value.strip()) is not None
    else:
        is_kept = name in TEXTS or name.startswith("aria-") or is_plain(value)
    return (value, []) if is_kept else (None, [f"{name} of <{tag}>"])


def judge_style(tag: str, style: str) -> tuple[str | None, list[str]]:
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
    """No address, no escape, no comment and no function but those that compute; `url(#name)` is within the picture."""
    rest = LOCAL.sub(" ", value)
    return (
        PLAIN.fullmatch(rest) is not None
        and "/*" not in rest
        and "//" not in rest
        and rest.count('"') % 2 == rest.count("'") % 2 == 0
        and rest.count("(") == rest.count(")")
        and all(called(before) in FUNCTIONS for before in rest.split("(")[:-1])
    )


def called(before: str) -> str:
    """The word before a parenthesis, in small letters; empty where there is none."""
    found = CALLED.search(before.rstrip()[-40:])
    return found.group().lower() if found else ""


def name_some(removed: dict[str, None]) -> tuple[str, ...]:
    names = [*removed][:MAX_NAMED]
    more = len(removed) - len(names)
    return (*names, f"and {more:,} more") if more else tuple(names)


LOWER_TAGS = frozenset(map(str.lower, TAGS))
ALLOWED = (
    "Text, tables, lists, links, inline SVG and inline styles are shown; scripts, forms, <style>, positions and what is"
    " fetched are not."
)
