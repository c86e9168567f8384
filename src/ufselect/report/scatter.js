/* The samples as points in two dimensions, coloured by cluster or by another column of the file. */

const COLORS = 8;
const SHAPES = ["circle", "square", "triangle"];
const SCATTER = { height: 400, margin: 18 };
const MOST_IN_LEGEND = 24;

function drawSamples(samples) {
  const plot = preparedPlot(samples);
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
  return { ...samples, axes, groups, rows, across: 0, up: 1, group: groups[0], only: null };
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

/** Draws the point of every value once, and copies it for every sample. */
function paintPoints({ x, y, count, group, only }, context) {
  const radius = pointRadius(count);
  const stamps = group.values.map((_, code) => stamp(code, radius));
  const half = radius + 1;
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  for (let i = 0; i < count; i++) {
    const code = group.codes[i];
    context.globalAlpha = only === null || only === code ? (count > 5000 ? 0.55 : 0.85) : 0.06;
    context.drawImage(stamps[code], x[i] - half, y[i] - half, 2 * half, 2 * half);
  }
  context.globalAlpha = 1;
}

function stamp(code, radius) {
  const canvas = element("canvas");
  const context = sizedCanvas(canvas, 2 * (radius + 1), 2 * (radius + 1));
  context.translate(radius + 1, radius + 1);
  context.fillStyle = color(`group-${code % COLORS}`);
  context.beginPath();
  shapePath(context, SHAPES[Math.floor(code / COLORS) % SHAPES.length], radius);
  context.fill();
  return canvas;
}

function shapePath(context, shape, radius) {
  if (shape === "circle") context.arc(0, 0, radius, 0, 2 * Math.PI);
  if (shape === "square") context.rect(-0.85 * radius, -0.85 * radius, 1.7 * radius, 1.7 * radius);
  if (shape === "triangle") {
    context.moveTo(0, -radius);
    context.lineTo(radius, 0.8 * radius);
    context.lineTo(-radius, 0.8 * radius);
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

function sampleTexts({ labels, rows, groups }, i) {
  const name = labels ? labels[i] : `Row ${grouped.format((rows ? rows[i] : i) + 1)}`;
  const listed = groups.filter((group) => group.listed);
  return [name, ...listed.map((group) => `${group.name}: ${group.values[group.codes[i]]}`)];
}

/** A button for every value; while pressed, samples with other values are faint. */
function showLegend(plot, draw) {
  const legend = byId("samples-legend");
  explainColoring(plot);
  const state = `${plot.groups.indexOf(plot.group)} ${color("group-0")}`;
  if (legend.dataset.of === state) return;
  legend.dataset.of = state;
  const shown = plot.group.values.slice(0, MOST_IN_LEGEND);
  legend.replaceChildren(...shown.map((value, code) => legendButton(plot, value, code, draw)));
  const hidden = plot.group.values.length - shown.length;
  if (hidden > 0) legend.append(element("span", {}, `and ${counted(hidden, "other")}; colours repeat`));
}

/** The caption explains the colours of clusters, or of the chosen column. */
function explainColoring(plot) {
  const sentence = byId("samples-coloring");
  plot.ofClusters ??= sentence.textContent;
  const ofValues = "Colours and shapes show the values of the column chosen above.";
  sentence.textContent = plot.group === plot.groups[0] ? plot.ofClusters : ofValues;
}

function legendButton(plot, value, code, draw) {
  const picture = stamp(code, 5);
  picture.setAttribute("aria-hidden", true);
  const title = plot.group === plot.groups[0] ? `Cluster ${value}` : value;
  const button = element("button", { type: "button", "aria-pressed": plot.only === code, title: `Show only ${title}` }, picture, element("span", {}, title));
  button.addEventListener("click", () => {
    plot.only = plot.only === code ? null : code;
    [...byId("samples-legend").querySelectorAll("button")].forEach((each, i) => each.setAttribute("aria-pressed", i === plot.only));
    draw();
  });
  return button;
}
