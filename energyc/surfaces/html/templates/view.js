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
