"use strict";
// Draws the history that the page holds as JSON; without scripts, the tables below say the same.
(function () {
  const element = document.getElementById("history");
  const place = document.getElementById("value-chart");
  if (!element || !place || typeof uPlot === "undefined") return;
  const rows = JSON.parse(element.textContent);
  if (rows.length < 2) return;
  const column = (i) => rows.map((row) => row[i]);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  // The first points have bands that are wide: the others say how high the chart is.
  const shown = rows.slice(Math.floor(rows.length / 4)).flatMap((row) => row.slice(3, 8)).filter((each) => each !== null);
  const [least, most] = [Math.min(...shown), Math.max(...shown)];
  let chart = null;
  function draw() {
    if (chart) chart.destroy();
    const axis = { stroke: colour("soft"), grid: { stroke: colour("line") }, ticks: { stroke: colour("line") } };
    const hours = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    const days = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
    const span = rows[rows.length - 1][0] - rows[0][0];
    const when = (seconds) => (span > 2 * 86400 ? days : hours).format(new Date(seconds * 1000));
    // A label that the one before it says already is left out.
    const times = { ...axis, space: 70, values: (u, splits) => splits.map(when).map((t, i, all) => t === all[i - 1] ? "" : t) };
    const hidden = { show: false };
    const faint = colour("new") + "33";
    chart = new uPlot({
      width: place.clientWidth,
      height: Math.min(340, Math.max(220, place.clientWidth * 0.4)),
      cursor: { y: false },
      scales: { y: { range: () => [Math.max(0, least - 0.02), most + 0.02] } },
      axes: [times, axis],
      series: [
        {},
        { label: "policy", stroke: colour("new"), width: 2, points: hidden },
        { label: "band, low", stroke: faint, width: 1, points: hidden },
        { label: "band, high", stroke: faint, width: 1, points: hidden },
        { label: place.dataset.baseline, stroke: colour("old"), width: 2, dash: [6, 4], points: hidden },
        { label: "best constant", stroke: colour("warn"), width: 2, dash: [2, 3], points: hidden },
      ],
      bands: [{ series: [3, 2], fill: faint }],
    }, [column(0), column(3), column(4), column(5), column(6), column(7)], place);
    place.dataset.drawn = rows.length;
  }
  draw();
  let width = place.clientWidth;
  new ResizeObserver(() => {
    if (place.clientWidth !== width) { width = place.clientWidth; draw(); }
  }).observe(place);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
