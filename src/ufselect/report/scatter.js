/* The samples as points in two dimensions, coloured by cluster or by another column of the file. */

const SHADES = 24;
const SHAPES = ["circle", "square", "triangle"];
const LONGEST_IN_LEGEND = 30;
const SCATTER = { height: 400, margin: 18 };

function drawSamples(samples, { shorts }) {
  const plot = preparedPlot(samples);
  plot.names = shorts;
  const drawing = byId("samples-drawing");
  const canvas = element("canvas", { "aria-hidden": true });
  const draw = () => {
    hide();
    drawing.replaceChildren(canvas);
    placePoints(plot, drawing.clientWidth);
    paintPoints(plot, sizedCanvas(canvas, drawing.clientWidth, SCATTER.height));
    showLegend(plot, draw);
  };
  const hide = makeExplorable(drawing, {
    round: true,
    at: (x, y) => nearestPoint(plot, x, y),
    next: (i, right, down) => (i === null ? 0 : (i + (right || down) + samples.count) % samples.count),
    box: (i) => ({ x: plot.x[i] - 7, y: plot.y[i] - 7, width: 14, height: 14 }),
    describe: (i) => sampleTexts(plot, i),
  });
  addScatterControls(plot, draw);
  keepDrawn(drawing, draw);
}

/** Samples with their axes unpacked, and the current choices: two axes, a column of colours, one of its values. */
function preparedPlot(samples) {
  const axes = samples.axes.map(({ codes }, i) => ({ title: `${samples.axis} ${i + 1}`, shares: unpackedShares(codes) }));
  if (axes.length < 2) axes.push(rowAxis(samples.count));
  const groups = samples.groups.map((group) => ({ ...group, codes: unpackedCodes(group) }));
  const rows = samples.rows ? unpacked(samples.rows, Uint32Array) : null;
  const outlying = samples.outlying ? unpacked(samples.outlying, Uint16Array) : null;
  return { ...samples, axes, groups, rows, outlying, across: 0, up: 1, group: groups[0], only: null };
}

const unpackedCodes = ({ values, codes }) => unpacked(codes, values.length <= 256 ? Uint8Array : Uint16Array);

/** The order in the file serves as the second axis if there is only one dimension. */
function rowAxis(count) {
  return { title: "Order in the file", shares: Float32Array.from({ length: count }, (_, i) => i / Math.max(count - 1, 1)) };
}

function addScatterControls(plot, draw) {
  const container = byId("samples-controls");
  const titles = plot.axes.map((axis) => axis.title);
  const colored = plot.groups.filter((group) => group.colors);
  const choose = (change) => (index) => {
    change(index);
    draw();
  };
  addSelect(container, "Horizontal", titles, 0, choose((index) => (plot.across = index)));
  addSelect(container, "Vertical", titles, 1, choose((index) => (plot.up = index)));
  if (colored.length < 2 && colored[0].values.length < 2) return;
  addSelect(container, "Colour", colored.map((group) => group.name), 0, choose((index) => {
    plot.group = colored[index];
    plot.only = null;
  }));
}

function placePoints(plot, width) {
  const { margin, height } = SCATTER;
  plot.x = plot.axes[plot.across].shares.map((share) => margin + share * (width - 2 * margin));
  plot.y = plot.axes[plot.up].shares.map((share) => height - margin - share * (height - 2 * margin));
}

const pointRadius = (count) => within(60 / Math.sqrt(count) + 1, 1.6, 5);

/** The values of the column chosen in the table, if they are known: they replace the colours of groups. */
const shadesOf = ({ values }) => (chosen === null ? null : (values[chosen] ?? null));

/** Whether a sample lies beyond one of the two axes shown. */
const isOutside = ({ outlying, across, up }, i) => outlying !== null && (outlying[i] & ((1 << across) | (1 << up))) !== 0;

/** Draws the point of every value once, and copies it for every sample; samples outside the axes are rings. */
function paintPoints(plot, context) {
  const { x, y, count, group, only, outlying } = plot;
  const radius = pointRadius(count);
  const shades = shadesOf(plot);
  const codes = shades ? unpacked(shades.codes, Uint8Array).map((code) => (code * SHADES) >> 8) : group.codes;
  const fills = shades ? shadeFills() : group.values.map((_, code) => color(`group-${code % COLORS}`));
  const shapes = fills.map((_, code) => (shades ? SHAPES[0] : SHAPES[Math.floor(code / COLORS) % SHAPES.length]));
  const stamps = fills.map((fill, code) => [stamp(fill, shapes[code], radius), outlying && stamp(fill, shapes[code], radius, true)]);
  const half = radius + 1;
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  for (let i = 0; i < count; i++) {
    const faint = !shades && only !== null && only !== codes[i];
    context.globalAlpha = faint ? 0.06 : count > 5000 ? 0.55 : 0.85;
    context.drawImage(stamps[codes[i]][isOutside(plot, i) ? 1 : 0], x[i] - half, y[i] - half, 2 * half, 2 * half);
  }
  context.globalAlpha = 1;
}

function shadeFills() {
  const scale = colorScale("shade-0", "shade-1", "shade-2");
  return Array.from({ length: SHADES }, (_, i) => `rgb(${scale(i / (SHADES - 1)).map(Math.round).join(" ")})`);
}

function stamp(fill, shape, radius, hollow = false) {
  const canvas = element("canvas");
  const context = sizedCanvas(canvas, 2 * (radius + 1), 2 * (radius + 1));
  context.translate(radius + 1, radius + 1);
  context.fillStyle = fill;
  context.strokeStyle = fill;
  context.lineWidth = 1.5;
  context.beginPath();
  shapePath(context, shape, radius - (hollow ? 0.5 : 0));
  if (hollow) context.stroke();
  else context.fill();
  return canvas;
}

function shapePath(context, shape, radius) {
  if (shape === "circle") context.arc(0, 0, radius, 0, 2 * Math.PI);
  if (shape === "square") context.rect(-0.85 * radius, -0.85 * radius, 1.7 * radius, 1.7 * radius);
  if (shape === "triangle") {
    context.moveTo(0, -radius);
    context.lineTo(radius, 0.8 * radius);
    context.lineTo(-radius, 0.8 * radius);
    context.closePath();
  }
}

function nearestPoint({ x, y, count, group, only }, left, top) {
  let [best, distance] = [null, 24 ** 2];
  for (let i = 0; i < count; i++) {
    if (only !== null && group.codes[i] !== only) continue;
    const found = (x[i] - left) ** 2 + (y[i] - top) ** 2;
    if (found < distance) [best, distance] = [i, found];
  }
  return best;
}

function sampleTexts(plot, i) {
  const { labels, rows, groups } = plot;
  const name = labels ? labels[i] : `Row ${grouped.format((rows ? rows[i] : i) + 1)}`;
  const listed = groups.filter((group) => group.listed);
  const far = isOutside(plot, i) ? ["Far outside, drawn at the edge"] : [];
  return [name, ...listed.map((group) => `${group.name}: ${group.values[group.codes[i]]}`), ...far];
}

/** A button for every value; while pressed, samples with other values are faint. */
function showLegend(plot, draw) {
  const legend = byId("samples-legend");
  explainColoring(plot);
  const shades = shadesOf(plot);
  const state = `${plot.groups.indexOf(plot.group)} ${color("group-0")} ${shades ? chosen : ""}`;
  if (legend.dataset.of === state) return;
  legend.dataset.of = state;
  legend.replaceChildren();
  if (shades) return addScaleLegend(legend, shortNumber(shades.low), shortNumber(shades.high), "shades");
  const shorts = shortNames(plot.group.values, (text) => text.length <= LONGEST_IN_LEGEND);
  if (shorts.length > 1) legend.append(...shorts.map((short, code) => legendButton(plot, short, code, draw)));
}

/** The caption explains the colours: of clusters, of the column of groups above, or of the column of the data. */
function explainColoring(plot) {
  const sentence = byId("samples-coloring");
  plot.ofClusters ??= sentence.textContent;
  const ofGroups = plot.group === plot.groups[0] ? plot.ofClusters : "Colours and shapes show the values of the column chosen above.";
  sentence.textContent = shadesOf(plot) ? `Colours show the values of ${plot.names[chosen]}.` : ofGroups;
}

function legendButton(plot, short, code, draw) {
  const picture = stamp(color(`group-${code % COLORS}`), SHAPES[Math.floor(code / COLORS) % SHAPES.length], 5);
  picture.setAttribute("aria-hidden", true);
  const value = plot.group.values[code];
  const kind = plot.group === plot.groups[0] ? `${/^\d+$/.test(value) ? "Cluster" : "Group"} ` : "";
  const button = element("button", { type: "button", "aria-pressed": plot.only === code, title: `Show only ${kind}${value}` }, picture, element("span", {}, `${kind}${short}`));
  button.addEventListener("click", () => {
    plot.only = plot.only === code ? null : code;
    [...byId("samples-legend").querySelectorAll("button")].forEach((each, i) => each.setAttribute("aria-pressed", i === plot.only));
    draw();
  });
  return button;
}
