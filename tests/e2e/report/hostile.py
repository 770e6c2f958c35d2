"""A hundred names and cells that other people's tables may hold: whatever might act somewhere."""

from __future__ import annotations

_ACTS = "window.__acted=1"

MARKUP = [
    f"<script>{_ACTS}</script>",
    f"</script><script>{_ACTS}</script>",
    f"</style><script>{_ACTS}</script>",
    f"</title><script>{_ACTS}</script>",
    f"<img src=x onerror={_ACTS}>",
    f'"><img src=x onerror={_ACTS}>',
    f"'><svg onload={_ACTS}>",
    f"<svg><script>{_ACTS}</script></svg>",
    f"<iframe srcdoc='<script>parent.{_ACTS}</script>'></iframe>",
    f"<a href=javascript:{_ACTS}>x</a>",
    f"<details open ontoggle={_ACTS}>",
    f"<body onload={_ACTS}>",
    "<meta http-equiv=refresh content='0;url=about:blank'>",
    "<base href=//example.invalid/>",
    "<link rel=stylesheet href=//example.invalid/x.css>",
    "<style>*{display:none}</style>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "</details></section></main></body></html>",
    "<table><tr><td>",
    "</td></tr></table>",
    "<b>bold</b>",
    "&lt;b&gt;",
    "&amp;amp;",
    "&#60;script&#62;",
    "<plaintext>",
    "<textarea>",
    "<template>",
    f"<math><mtext><img src=x onerror={_ACTS}></mtext></math>",
    f"`onmouseover={_ACTS}`",
    f"x onmouseover={_ACTS}",
    f"javascript:{_ACTS}",
    f"data:text/html,<script>{_ACTS}</script>",
]
TEMPLATES = [
    "{{ 7 * 7 }}",
    "{% for x in [1] %}x{% endfor %}",
    "{# comment #}",
    "{{ report.__class__ }}",
    "${7*7}",
    "#{7*7}",
    "<%= 7*7 %>",
    "{{constructor.constructor('x')()}}",
    "%s %d %(x)s",
    "{0.__class__}",
]
FORMULAS = [
    "=1+1",
    "=HYPERLINK(A1)",
    "+1+1",
    "-1+cmd",
    "@SUM(A1)",
    "\t=1+1",
    "=cmd|' /C calc'!A0",
    "\uff1d1+1",
    " =1+1",
    "=IMPORTXML(1)",
    "\u200b=1+1",
    '="x"',
]
QUOTES = ['"', '""', "'", "''", "`", "\\", "\\\\", "\\n", "a,b", "a;b", 'a"b', "a'b", "|", "a|b|c", "$x$", "$(x)"]
UNSEEN = [
    "\u202egnp.exe",
    "\u2066abc\u2069",
    "\u200f\u200eabc",
    "\u200b\u200c\u200d",
    "a\u00adb",
    "\ufeffx",
    "\u0007bell",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "a\rb",
    "a\nb",
    "\u2028line",
    "\u2029paragraph",
    "\u0085next",
    "\x7f",
]
LETTERS = [
    "שלום עולם",
    "مرحبا بالعالم",
    "日本語の列",
    "Ω≈ç√∫",
    "👩‍👩‍👧‍👦",
    "🏴‍☠️ 🚩",
    "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘",
    "é" * 40,
    "ß" * 3,
    "\uff41\uff42\uff43",
]
LONG = ["x" * 10_000, "<" * 10_000]

HOSTILE = [*MARKUP, *TEMPLATES, *FORMULAS, *QUOTES, *UNSEEN, *LETTERS, *LONG]
