"""Texts that run in a page which forgets to escape them; each would set ``window.owned``."""

CORPUS = (
    "<script>window.owned=1</script>",
    "</script><script>window.owned=1</script>",
    "<img src=x onerror=window.owned=1>",
    "\"><svg onload=window.owned=1>",
    "' autofocus onfocus=window.owned=1 x='",
    "<iframe srcdoc='<script>parent.owned=1</script>'></iframe>",
    "<a href=\"javascript:window.owned=1\">x</a>",
    "</style></title></textarea><script>window.owned=1</script>",
    "<!--<script>window.owned=1",
    "${window.owned=1}{{7*7}}",
    "</dialog><form action=javascript:window.owned=1><button autofocus>",
    "<math><mtext><table><mglyph><style><img src=x onerror=window.owned=1>",
)  # fmt: skip
