"""The style sheet: a light and a dark palette, and the rules that use them."""

from __future__ import annotations

# Text has a contrast of at least 4.5 : 1 on page and card, drawings of at least 3 : 1.
LIGHT = {
    "page": "#f3f5f8",
    "card": "#ffffff",
    "line": "#d9dfe7",
    "ink": "#17202c",
    "soft": "#526072",
    "new": "#1d5fd0",
    "old": "#77849a",
    "good": "#12723f",
    "bad": "#b3261e",
    "warn": "#855000",
    "tint-new": "#eaf1fd",
    "tint-good": "#e6f5ec",
    "tint-bad": "#fdecea",
    "tint-warn": "#fff4dc",
}
DARK = {
    "page": "#0f141a",
    "card": "#181f28",
    "line": "#313c4a",
    "ink": "#e9eef5",
    "soft": "#a6b2c2",
    "new": "#7fb2ff",
    "old": "#8693a6",
    "good": "#63d69b",
    "bad": "#ff938a",
    "warn": "#f2c166",
    "tint-new": "#1b2b45",
    "tint-good": "#163326",
    "tint-bad": "#40211f",
    "tint-warn": "#372b14",
}

_RULES = """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
header, nav, main, footer { max-width: 1120px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 28px; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; line-height: 1.3; margin: 0 0 4px; }
h3 { font-size: .95rem; margin: 20px 0 4px; }
p { margin: 0 0 10px; max-width: 54rem; overflow-wrap: anywhere; }
p.note { font-size: .875rem; color: var(--soft); margin-top: 10px; margin-bottom: 0; }
p.under { color: var(--soft); margin: 2px 0 0; font-size: .9rem; }
a { color: var(--new); }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 12px 0 0; padding: 0;
  font-size: .9rem; }
main { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 20px; margin-top: 18px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 22px 24px;
  grid-column: span 2; min-width: 0; scroll-margin-top: 12px; }
section.half { grid-column: span 1; }
footer { color: var(--soft); font-size: .85rem; padding-top: 18px; padding-bottom: 36px; }
.num { font-variant-numeric: tabular-nums; }
.soft { color: var(--soft); }

#verdict h2 { font-size: 1.75rem; line-height: 1.2; margin-bottom: 8px; }
#verdict.good { border-top: 5px solid var(--good); }
#verdict.bad { border-top: 5px solid var(--bad); }
#verdict.open { border-top: 5px solid var(--old); }
#verdict.good h2 { color: var(--good); }
#verdict.bad h2 { color: var(--bad); }
#verdict .said { font-size: 1.1rem; max-width: 56rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 14px; margin: 18px 0; }
.tiles > div { border-radius: 10px; padding: 14px 18px; background: var(--page); min-width: 0; }
.tiles > .new { background: var(--tint-new); }
.tiles > .good { background: var(--tint-good); }
.tiles > .bad { background: var(--tint-bad); }
.tiles dt { font-size: .9rem; }
.tiles dd { margin: 0; font-size: .9rem; overflow-wrap: anywhere; }
.tiles .big { font-size: 2.1rem; line-height: 1.2; font-weight: 650; letter-spacing: -.01em; }
.tiles .new .big { color: var(--new); }
.tiles .good .big { color: var(--good); }
.tiles .bad .big { color: var(--bad); }

.warnings { list-style: none; padding: 0; margin: 8px 0 0; }
.warnings li { background: var(--tint-warn); border-left: 4px solid var(--warn); border-radius: 4px; padding: 10px 14px;
  margin-top: 8px; overflow-wrap: anywhere; }
#warnings h2 { color: var(--warn); }
ul.names { margin: 0; padding-left: 1.2rem; font-size: .875rem; overflow-wrap: anywhere; }
ul.rules { list-style: none; margin: 6px 0; padding-left: 1.2rem; border-left: 2px solid var(--line);
  overflow-wrap: anywhere; }
ul.rules li { margin: 6px 0; }
ul.plain { margin: 6px 0 0; padding-left: 1.2rem; overflow-wrap: anywhere; }

table { border-collapse: collapse; width: 100%; font-size: .92rem; }
caption { text-align: left; color: var(--soft); font-size: .875rem; padding-bottom: 6px; }
th { text-align: left; font-weight: 600; }
table.plain th, table.plain td { padding: 5px 14px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: anywhere; }
table.plain td.num { text-align: right; padding-right: 0; white-space: nowrap; }
table.plain tbody th { font-weight: 400; color: var(--soft); width: 36%; }
table.list th, table.list tbody th { width: auto; }
table.list td.num + td.num { padding-left: 14px; }
table.list thead th.num { text-align: right; white-space: nowrap; padding-right: 0; padding-left: 14px; }

.chart, .chart tbody { display: block; }
.chart tr, .chart-axis { display: grid; grid-template-columns: minmax(0, var(--names, 30%)) minmax(0, 1fr) var(--room);
  column-gap: 14px; align-items: stretch; }
.chart tbody tr { min-height: 32px; }
.chart.tall tbody tr { min-height: 44px; }
.chart tbody tr.bare th { grid-column: 1 / -1; }
.chart tbody tr.main { background: var(--tint-new); border-radius: 6px; }
.chart th, .chart td { padding: 0; display: flex; align-items: center; min-width: 0; }
.chart th { font-weight: 400; padding: 3px 0 3px 8px; }
.chart th > span { min-width: 0; display: block; max-width: 100%; }
.chart .sub { font-size: .8rem; color: var(--soft); display: block; line-height: 1.25; overflow-wrap: anywhere; }
.chart tr.main .sub, .chart tr.main .soft { color: var(--ink); }
.chart td.num { justify-content: flex-end; text-align: right; padding-right: 8px; white-space: nowrap; }
.chart td.num > span { display: block; }
.chart { position: relative; }
.chart thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.chart-axis { height: 20px; font-size: .92rem; }
.chart-axis > div { grid-column: 2; }
.name { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 100%; }
.name.long { display: flex; }
.name.long > span { white-space: pre; flex: none; }
.name.long > span:first-child { flex: 0 1 auto; overflow: hidden; text-overflow: ellipsis; }
tr.main .name { font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; font-size: .875rem; color: var(--soft); margin: 4px 0 8px;
  padding: 0; list-style: none; }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 6px;
  vertical-align: -1px; background: var(--old); }
.legend i.new { background: var(--new); }
.legend i.dash { height: 0; border-top: 2px dashed var(--soft); background: none; border-radius: 0; width: 18px;
  vertical-align: 4px; }

svg { display: block; }
.plot { overflow: visible; position: absolute; inset: 0; }
.chart td.plotted, .chart-axis > div { position: relative; }
.grid, .base { stroke: var(--line); stroke-width: 1; }
.reference { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 3 3; }
.range { stroke-width: 3; stroke-linecap: round; }
.end { stroke-width: 2; }
line.new { stroke: var(--new); }
line.old { stroke: var(--old); }
line.good { stroke: var(--good); }
line.bad { stroke: var(--bad); }
.dot { stroke: var(--card); stroke-width: 1.5; }
.dot.new, .bar.new { fill: var(--new); }
.dot.old, .bar.old { fill: var(--old); }
.dot.good { fill: var(--good); }
.dot.bad { fill: var(--bad); }
text { fill: var(--ink); font: inherit; }
text.tick { fill: var(--soft); font-size: 11.5px; font-variant-numeric: tabular-nums; }
.histogram { overflow: visible; margin-top: 10px; }
.tree { overflow: hidden; margin-top: 10px; }

.tree text { font-size: 13px; unicode-bidi: plaintext; }
.tree text.soft, .tree tspan.soft { fill: var(--soft); font-size: 12px; font-weight: 400; }
.tree .leaf { font-weight: 600; }
.tree .branch { stroke: var(--old); stroke-width: 1.5; stroke-linecap: round; }
.tree .node { fill: var(--new); stroke: var(--card); stroke-width: 1.5; }
.tree .many { fill: var(--old); }
.tree .meter { fill: var(--line); }
.tree .narrow { display: none; }

details { margin-top: 12px; font-size: .92rem; }
summary { cursor: pointer; color: var(--new); }
details > * + * { margin-top: 8px; }
.scroll { max-height: 22rem; overflow-y: auto; }
pre { background: var(--page); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; margin: 10px 0;
  white-space: pre-wrap; overflow-wrap: anywhere;
  font: .875rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }

@media (max-width: 860px) {
  section.half { grid-column: span 2; }
}
@media (max-width: 560px) {
  header, nav, main, footer { padding-left: 12px; padding-right: 12px; }
  header { padding-top: 18px; }
  main { gap: 12px; margin-top: 14px; }
  section { padding: 16px 14px; border-radius: 10px; }
  #verdict h2 { font-size: 1.45rem; }
  #verdict .said { font-size: 1rem; }
  .tiles { grid-template-columns: minmax(0, 1fr); gap: 8px; margin: 12px 0; }
  .tiles > div { padding: 10px 14px; }
  .tiles .big { font-size: 1.75rem; }
  .chart tr { grid-template-columns: minmax(6.2rem, 1fr) minmax(0, auto); column-gap: 10px; padding: 4px 0 2px; }
  .chart-axis { grid-template-columns: minmax(0, 1fr); }
  .chart-axis > div { grid-column: 1; }
  .chart td.plotted { grid-row: 2; grid-column: span 2; height: 24px; }
  .chart.bars td.plotted { height: 20px; }
  .chart.tall tbody tr { min-height: 0; }
  .chart td.plotted:empty { display: none; }
  .chart th { padding-left: 2px; }
  .chart td.num { padding-right: 2px; white-space: normal; }
  .chart td.num .soft { display: inline-block; }
  .tree text { font-size: 12px; }
  .tree text.soft, .tree tspan.soft { font-size: 11px; }
  .tree .narrow { display: inline; }
  .tree .wide { display: none; }
}
@media print {
  body { font-size: 11pt; background: #fff; }
  nav, summary { display: none; }
  main { gap: 10px; }
  section { break-inside: auto; border-color: #bbb; padding: 12px 14px; }
  .chart tr, .warnings li, .tiles, .histogram { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .scroll { max-height: none; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


def style() -> str:
    """Return the style sheet."""
    return (
        f":root {{ color-scheme: light dark; {_variables(LIGHT)} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}\n"
        f"@media print {{ :root {{ color-scheme: light; }} }}\n{_RULES}"
    )


def _variables(palette: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in palette.items())
