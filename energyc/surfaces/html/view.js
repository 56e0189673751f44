"use strict";

// The slider of the updates: of each relaxation only the curves of one update show.
for (const block of document.querySelectorAll(".relaxations")) {
  const updates = block.dataset.updates.split(",").map(Number);
  const slider = block.querySelector("input");
  const output = block.querySelector("output");
  const show = () => {
    output.textContent = updates[slider.value].toLocaleString("en");
    for (const curve of block.querySelectorAll("[data-group]")) {
      curve.toggleAttribute("hidden", curve.dataset.group !== slider.value);
    }
  };
  slider.addEventListener("input", show);
  show();
}

// A pointer over a chart reads off the points nearest to it.
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
document.body.append(tip);

const points = (series) =>
  series.dataset.points
    .split(";")
    .filter(Boolean)
    .map((point) => point.split(" "));

function nearest(series, x) {
  let best = null;
  for (const point of points(series)) {
    if (best === null || Math.abs(point[2] - x) < Math.abs(best[2] - x)) best = point;
  }
  return best;
}

function cursor(chart, x) {
  let line = chart.querySelector(".cursor");
  if (line === null) {
    line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    line.setAttribute("class", "cursor");
    chart.append(line);
  }
  for (const [name, value] of [["x1", x], ["x2", x], ["y1", chart.dataset.top], ["y2", chart.dataset.bottom]]) {
    line.setAttribute(name, value);
  }
}

function read(event) {
  const chart = event.currentTarget;
  const frame = chart.getBoundingClientRect();
  const x = ((event.clientX - frame.left) / frame.width) * chart.viewBox.baseVal.width;
  const found = [...chart.querySelectorAll(".series[data-points]:not([hidden])")]
    .map((series) => [series.dataset.label, nearest(series, x)])
    .filter(([, point]) => point !== null);
  if (found.length === 0) return;
  const at = found.reduce((a, b) => (Math.abs(b[1][2] - x) < Math.abs(a[1][2] - x) ? b : a))[1];
  cursor(chart, at[2]);
  tip.replaceChildren();
  for (const text of [`${chart.dataset.x} ${at[0]}`, ...found.map(([label, point]) => `${label} ${point[1]}`)]) {
    const line = document.createElement("div");
    line.textContent = text;
    tip.append(line);
  }
  tip.hidden = false;
  const left = Math.min(event.pageX + 14, document.documentElement.clientWidth - tip.offsetWidth - 4);
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${event.pageY + 14}px`;
}

for (const chart of document.querySelectorAll(".chart")) {
  chart.addEventListener("pointermove", read);
  chart.addEventListener("pointerleave", () => {
    tip.hidden = true;
    chart.querySelector(".cursor")?.remove();
  });
}
