/* Shared by all parts of the page: elements, numbers, colours and redrawing. */

const byId = (id) => document.getElementById(id);

/** The number of colours of groups: more values than these differ by their shapes. */
const COLORS = 12;

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; strings become text nodes. */
function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svgElement(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Resizes a canvas to the resolution of the screen, and returns its context in CSS pixels. */
function sizedCanvas(canvas, width, height) {
  const sharpness = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * sharpness);
  canvas.height = Math.round(height * sharpness);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(sharpness, sharpness);
  return context;
}

/** Unpacks numbers from base 64: Type is Uint8Array, Uint16Array or Uint32Array. */
function unpacked(text, Type) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return new Type(bytes.buffer);
}

const unpackedShares = (text) => Float32Array.from(unpacked(text, Uint16Array), (code) => code / 65535);

const smallest = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
const largest = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
const within = (value, low, high) => Math.max(low, Math.min(value, high));

const grouped = new Intl.NumberFormat("en-US");
const counted = (count, noun) => `${grouped.format(count)} ${noun}${count === 1 ? "" : "s"}`;
const percent = (share) => `${(100 * share).toFixed(1)}\u00a0%`;

/** Four significant digits; very large and very small numbers with an exponent. */
function evenNumber(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e4 || size < 1e-3) ? value.toExponential(2) : value.toPrecision(4);
}

/** The same without trailing zeros. */
function shortNumber(value) {
  const text = evenNumber(value);
  return /^-?[\d.]+$/.test(text) ? String(Number(text)) : text;
}

/**
 * Names, with an ellipsis in the middle of those that do not fit. Names that would read the same show where they differ.
 */
function shortNames(names, fits) {
  const texts = [...names];
  const settle = (places, shorten) => {
    const groups = new Map();
    for (const i of places) {
      texts[i] = shorten(names[i]);
      if (!groups.has(texts[i])) groups.set(texts[i], []);
      groups.get(texts[i]).push(i);
    }
    for (const group of groups.values()) {
      const start = group.length > 1 ? commonLength(group.map((i) => names[i])) : Infinity;
      if (group.some((i) => names[i].length > start)) settle(group, (name) => shortenedAt(name, start, fits));
    }
  };
  settle([...names.keys()], (name) => shortenedInTheMiddle(name, fits));
  const taken = new Map();
  return texts.map((text, i) => {
    const unlike = taken.has(text) && taken.get(text) !== names[i] ? `${text} (${i + 1})` : text;
    taken.set(unlike, names[i]);
    return unlike;
  });
}

const LONGEST_MEASURED = 200;
const LONGEST_WORD = 12;

function shortenedInTheMiddle(name, fits) {
  if (name.length <= LONGEST_MEASURED && fits(name)) return name;
  return fitting(Math.min(name.length - 1, LONGEST_MEASURED), fits, (kept) =>
    `${name.slice(0, Math.ceil(kept / 2))}…${name.slice(name.length - Math.floor(kept / 2))}`);
}

/** The part of a name from the word at a place on, with an ellipsis on each side where something is missing. */
function shortenedAt(name, place, fits) {
  const before = name.slice(Math.max(0, place - LONGEST_WORD), place);
  const first = place - before.match(/[^\s_./:-]*$/)[0].length;
  const least = place - first + 4; // else the names would still read the same
  return fitting(Math.min(name.length - first, LONGEST_MEASURED), fits, (kept) =>
    `${first ? "…" : ""}${name.slice(first, first + kept)}${first + kept < name.length ? "…" : ""}`, least);
}

/** The longest text that fits; that of the least number of letters if none does. */
function fitting(most, fits, text, least = 4) {
  let kept = most;
  while (kept > least && !fits(text(kept))) kept--;
  return text(kept);
}

/** The number of letters at which all texts begin alike. */
function commonLength(texts) {
  const [first, ...others] = texts;
  let length = 0;
  while (length < first.length && others.every((other) => other[length] === first[length])) length++;
  return length;
}

/** The colour of a name in the current theme. */
function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function rgb(hex) {
  const number = parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

/** Returns a function from a share between 0 and 1 to a colour between those of the names. */
function colorScale(...names) {
  const stops = names.map((name) => rgb(color(name)));
  return (share) => {
    const position = within(share, 0, 1) * (stops.length - 1);
    const below = Math.min(Math.floor(position), stops.length - 2);
    return stops[below].map((value, i) => value + (position - below) * (stops[below + 1][i] - value));
  };
}

const redraws = [];
const redrawAll = () => redraws.forEach((draw) => draw());

/** The rank, from 0, of the column that all figures highlight; null for none. */
let chosen = null;

function choose(rank) {
  chosen = rank;
  redrawAll();
}

/** Draws now, and again whenever the width or the theme changes. */
function keepDrawn(drawing, draw) {
  let width = drawing.clientWidth;
  redraws.push(draw);
  draw();
  new ResizeObserver(() => {
    if (drawing.clientWidth === width) return;
    width = drawing.clientWidth;
    draw();
  }).observe(drawing);
}

/** A group of buttons, exactly one of them pressed. */
function addChoice(container, label, names, chosen, choose) {
  const buttons = names.map((name, i) => element("button", { type: "button", "aria-pressed": i === chosen }, name));
  buttons.forEach((button, i) =>
    button.addEventListener("click", () => {
      buttons.forEach((other, j) => other.setAttribute("aria-pressed", i === j));
      choose(i);
    }),
  );
  container.append(element("div", { class: "choice", role: "group", "aria-label": label }, ...buttons));
}

/** A drop-down list with a label. */
function addSelect(container, label, names, chosen, choose) {
  const options = names.map((name, i) => element("option", { value: i }, name));
  const select = element("select", {}, ...options);
  select.selectedIndex = chosen;
  select.addEventListener("change", () => choose(select.selectedIndex));
  container.append(element("label", {}, element("span", {}, label), select));
}
