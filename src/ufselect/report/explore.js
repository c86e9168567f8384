/* Mouse, touch and arrow keys on a figure: a marker on the item, a tooltip next to it, and its text for screen readers. */

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const LONGEST_SPOKEN = 200;

/**
 * Makes the items of a figure explorable.
 *
 * items.at(x, y): the item at a position in the figure, or null;
 * items.next(item, right, down): the item after an arrow key, or the first item if item is null;
 * items.box(item): its {x, y, width, height} in the figure;
 * items.describe(item): lines of text; items.round: whether the marker is a ring.
 */
function makeExplorable(drawing, items) {
  const marker = element("div", { class: items.round ? "marker round" : "marker" });
  marker.hidden = true;
  let current = null;

  const show = (item, spoken) => {
    if (item === null) return hide();
    current = item;
    const box = items.box(item);
    putMarker(drawing, marker, box);
    showTip(items.describe(item), box, drawing.getBoundingClientRect());
    if (spoken) speak(items.describe(item));
  };
  const hide = () => {
    if (marker.hidden) return; // the tooltip belongs to another figure
    marker.hidden = true;
    byId("tip").hidden = true;
  };
  const point = (event) => {
    const frame = drawing.getBoundingClientRect();
    show(items.at(event.clientX - frame.left, event.clientY - frame.top), false);
  };

  drawing.addEventListener("pointermove", point);
  drawing.addEventListener("pointerdown", point);
  // Lifting a finger also fires pointerleave; the tooltip stays until the next touch elsewhere.
  drawing.addEventListener("pointerleave", (event) => event.pointerType === "touch" || hide());
  document.addEventListener("pointerdown", (event) => drawing.contains(event.target) || hide());
  window.addEventListener("scroll", () => marker.hidden || (isInWindow(drawing) ? show(current, false) : hide()));
  drawing.addEventListener("blur", hide);
  drawing.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    if (!(event.key in STEPS)) return;
    event.preventDefault();
    show(items.next(current, ...STEPS[event.key]), true);
  });
  return hide;
}

function isInWindow(drawing) {
  const { top, bottom } = drawing.getBoundingClientRect();
  return bottom > 0 && top < document.documentElement.clientHeight;
}

function putMarker(drawing, marker, box) {
  if (marker.parentNode !== drawing) drawing.append(marker);
  const position = { left: box.x, top: box.y, width: box.width, height: box.height };
  for (const [side, length] of Object.entries(position)) marker.style[side] = `${length}px`;
  marker.hidden = false;
}

/** Places the tooltip next to the box, within the window. */
function showTip(lines, box, frame) {
  const tip = byId("tip");
  tip.replaceChildren(...lines.map((line) => element("div", {}, line)));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const gap = 12;
  let left = frame.left + box.x + box.width + gap;
  if (left + width > clientWidth) left = frame.left + box.x - width - gap;
  const top = frame.top + box.y + box.height / 2 - height / 2;
  tip.style.left = `${within(left, 4, clientWidth - width - 4)}px`;
  tip.style.top = `${within(top, 4, clientHeight - height - 4)}px`;
}

function speak(lines) {
  byId("spoken").textContent = lines.map((line) => line.slice(0, LONGEST_SPOKEN)).join(", ");
}
