/* Grids of coloured cells: neighbours, correlations and the image. */

const MAP_HEIGHT = 440;
const BAND = 11;
const MOST_BORDERS = 20;

function drawBlocks({ size, shares, clusters, borders }) {
  const values = unpackedShares(shares);
  const most = largest(values) || 1;
  grid(byId("blocks-drawing"), () => ({
    rows: size,
    columns: size,
    borders,
    bands: clusters,
    // The square root makes small shares visible.
    paint: scaleOver(colorScale("heat-0", "heat-1", "heat-2", "heat-3"), (row, column) => Math.sqrt(values[row * size + column] / most)),
    describe: (row, column) => [
      `From cluster ${clusters[row]} to cluster ${clusters[column]}`,
      `${percent(values[row * size + column])} of the neighbours of these samples`,
    ],
  }));
  addScaleLegend(byId("blocks-legend"), "none", "most");
}

function drawRedundancy({ size, values: text, similar }, { names }) {
  if (!byId("redundancy-drawing")) return;
  const values = unpackedShares(text);
  const byRank = [...similar.keys()];
  let order = byRank;
  const at = (row, column) => values[order[row] * size + order[column]];
  const draw = grid(byId("redundancy-drawing"), () => ({
    rows: size,
    columns: size,
    borders: [],
    paint: scaleOver(colorScale("heat-0", "heat-1", "heat-2", "heat-3"), at),
    describe: (row, column) => [names[order[row]], names[order[column]], `Absolute correlation ${at(row, column).toFixed(2)}`],
  }));
  addScaleLegend(byId("redundancy-legend"), "0", "1");
  addChoice(byId("redundancy-controls"), "Order of the columns", ["By rank", "By similarity"], 0, (index) => {
    order = index === 0 ? byRank : similar;
    draw();
  });
}

function drawImage(image, features) {
  if (!image) return;
  const { height, width } = image;
  const mean = unpacked(image.mean, Uint8Array);
  const ranks = inverse(unpacked(image.columns, Uint32Array));
  grid(byId("image-drawing"), () => ({
    rows: height,
    columns: width,
    borders: [],
    paint: pixelColors(mean, ranks, features.selected, width),
    describe: (row, column) => pixelTexts(row, column, ranks[row * width + column], features),
  }));
  addScaleLegend(byId("image-legend"), "best", "last selected", "pick");
}

function inverse(order) {
  const indices = new Uint32Array(order.length);
  order.forEach((value, index) => (indices[value] = index));
  return indices;
}

function pixelColors(mean, ranks, selected, width) {
  const scale = colorScale("pick-0", "pick-1");
  return (row, column) => {
    const pixel = row * width + column;
    if (ranks[pixel] < selected) return scale(ranks[pixel] / Math.max(selected - 1, 1));
    const gray = 40 + 0.75 * mean[pixel];
    return [gray, gray, gray];
  };
}

function pixelTexts(row, column, rank, { names, scores, selected }) {
  const position = `Row ${row + 1}, column ${column + 1}`;
  const state = rank < selected ? "selected" : "not selected";
  return [names[rank], position, `Rank ${grouped.format(rank + 1)}, ${state}`, `Score ${shortNumber(scores[rank])}`];
}

const scaleOver = (scale, share) => (row, column) => scale(share(row, column));

/** Draws cells and redraws them on resize; what() returns their number, colours and texts. Returns a function that redraws. */
function grid(drawing, what) {
  const canvas = element("canvas", { "aria-hidden": true });
  let cells = null;
  let [side, inset] = [1, 0];
  const draw = () => {
    hide();
    cells = what();
    inset = cells.bands ? BAND : 0;
    side = Math.min((drawing.clientWidth - inset) / cells.columns, (MAP_HEIGHT - inset) / cells.rows);
    drawing.replaceChildren(canvas);
    const context = sizedCanvas(canvas, inset + side * cells.columns, inset + side * cells.rows);
    drawBands(context, cells, side);
    context.translate(inset, inset);
    context.imageSmoothingEnabled = false;
    context.drawImage(paintedCells(cells), 0, 0, side * cells.columns, side * cells.rows);
    drawBorders(context, cells, side);
  };
  const corner = () => [canvas.offsetLeft + inset, canvas.offsetTop + inset];
  const hide = makeExplorable(drawing, {
    at: (x, y) => cellAt(cells, Math.floor((x - corner()[0]) / side), Math.floor((y - corner()[1]) / side)),
    next: (cell, right, down) =>
      cell === null ? [0, 0] : [within(cell[0] + down, 0, cells.rows - 1), within(cell[1] + right, 0, cells.columns - 1)],
    box: ([row, column]) => ({ x: corner()[0] + column * side, y: corner()[1] + row * side, width: side, height: side }),
    describe: ([row, column]) => cells.describe(row, column),
  });
  keepDrawn(drawing, draw);
  return draw;
}

function cellAt({ rows, columns }, column, row) {
  return row >= 0 && row < rows && column >= 0 && column < columns ? [row, column] : null;
}

/** A canvas with one pixel per cell. */
function paintedCells({ rows, columns, paint }) {
  const canvas = element("canvas", { width: columns, height: rows });
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(columns, rows);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      pixels.data.set([...paint(row, column), 255], 4 * (row * columns + column));
    }
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}

/** Bands next to the rows and above the columns, in the colours of the clusters in the scatter plot. */
function drawBands(context, { bands }, side) {
  (bands ?? []).forEach((number, i) => {
    context.fillStyle = color(`group-${(number - 1) % COLORS}`);
    context.fillRect(0, BAND + i * side, BAND - 3, side + 0.5);
    context.fillRect(BAND + i * side, 0, side + 0.5, BAND - 3);
  });
}

/** Lines between clusters, unless there are so many that they would hide the cells; the bands remain. */
function drawBorders(context, { rows, columns, borders }, side) {
  if (borders.length >= MOST_BORDERS) return;
  context.strokeStyle = color("border-line");
  context.globalAlpha = 0.65;
  context.lineWidth = 1;
  context.beginPath();
  for (const border of borders) {
    const position = Math.round(border * side) + 0.5;
    context.moveTo(position, 0);
    context.lineTo(position, rows * side);
    context.moveTo(0, position);
    context.lineTo(columns * side, position);
  }
  context.stroke();
}

function addScaleLegend(container, low, high, kind = "heat") {
  container.append(element("span", {}, low), element("span", { class: `scale ${kind}` }), element("span", {}, high));
}
