/* Grids of coloured cells: means by cluster, correlations and the image. */

const MAP_HEIGHT = 440;
const BAND = 11;
const CELL = { least: 11, most: 24, widest: 64 };
const LABEL = { share: 0.42, widest: 240, gap: 8, size: 12, font: "system-ui, sans-serif" };
const FURTHEST_MEAN = 2;

/** Rows are columns of the data, and columns are clusters of samples. */
function drawMarkers(markers, { names, selected }) {
  if (!markers) return;
  const { columns, clusters, codes, means, controls } = markers;
  grid(byId("markers-drawing"), () => ({
    rows: columns.length,
    columns: clusters.length,
    rowNames: columns.map((rank) => names[rank]),
    columnNames: clusters.map((name) => name.split(" ")[0]),
    borders: controls ? [columns.length - controls] : [],
    bands: codes,
    marked: { row: columns.indexOf(chosen) },
    paint: scaleOver(colorScale("below", "middle", "above"), (row, column) => 0.5 + means[row][column] / FURTHEST_MEAN / 2),
    describe: (row, column) => [
      names[columns[row]],
      `Cluster ${clusters[column]}: ${signed(means[row][column])} standard deviations`,
      rankText(columns[row], selected),
    ],
  }));
  addScaleLegend(byId("markers-legend"), `${-FURTHEST_MEAN} or less`, `${FURTHEST_MEAN} or more`, "means");
}

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

function drawRedundancy({ size, values: text, similar }, { names }) {
  if (!byId("redundancy-drawing")) return;
  const values = unpackedShares(text);
  const at = (row, column) => values[similar[row] * size + similar[column]];
  const place = inverse(similar);
  grid(byId("redundancy-drawing"), () => ({
    rows: size,
    columns: size,
    rowNames: similar.map((rank) => names[rank]),
    borders: [],
    marked: chosen !== null && chosen < size ? { row: place[chosen], column: place[chosen] } : {},
    paint: scaleOver(colorScale("heat-0", "heat-1", "heat-2", "heat-3"), at),
    describe: (row, column) => [names[similar[row]], names[similar[column]], `Absolute correlation ${at(row, column).toFixed(2)}`],
  }));
  addScaleLegend(byId("redundancy-legend"), "0", "1");
}

function drawImage(image, features) {
  if (!image) return;
  const { height, width } = image;
  const mean = unpacked(image.mean, Uint8Array);
  const columns = unpacked(image.columns, Uint32Array);
  const ranks = inverse(columns);
  grid(byId("image-drawing"), () => ({
    rows: height,
    columns: width,
    square: true,
    borders: [],
    marked: chosen === null ? {} : { cell: [Math.floor(columns[chosen] / width), columns[chosen] % width] },
    paint: pixelColors(mean, ranks, features.selected, width),
    describe: (row, column) => pixelTexts(row, column, ranks[row * width + column], features),
  }));
  addScaleLegend(byId("image-legend"), "best", "last selected", "pick");
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

function pixelTexts(row, column, rank, { names, scores, gains, selected }) {
  const position = `Row ${row + 1}, column ${column + 1}`;
  const gain = gains?.[rank] === undefined ? [] : [`Gain ${gains[rank].toFixed(4)}`];
  return [names[rank], position, rankText(rank, selected), ...(gains ? gain : [`Score ${shortNumber(scores[rank])}`])];
}

const scaleOver = (scale, share) => (row, column) => scale(share(row, column));

/** Draws cells and redraws them on resize; what() returns their number, names, colours and texts. Returns a function that redraws. */
function grid(drawing, what) {
  const canvas = element("canvas", { "aria-hidden": true });
  let cells = null;
  let frame = null;
  const draw = () => {
    hide();
    cells = what();
    frame = frameOf(cells, drawing.clientWidth);
    drawing.replaceChildren(canvas);
    const context = sizedCanvas(canvas, frame.left + frame.across * cells.columns, frame.top + frame.down * cells.rows);
    drawNames(context, cells, frame);
    drawBands(context, cells, frame);
    context.translate(frame.left, frame.top);
    context.imageSmoothingEnabled = false;
    context.drawImage(paintedCells(cells), 0, 0, frame.across * cells.columns, frame.down * cells.rows);
    drawBorders(context, cells, frame);
    outlineMarked(context, cells, frame);
  };
  const corner = () => [canvas.offsetLeft + frame.left, canvas.offsetTop + frame.top];
  const hide = makeExplorable(drawing, {
    at: (x, y) => cellAt(cells, Math.floor((x - corner()[0]) / frame.across), Math.floor((y - corner()[1]) / frame.down)),
    next: (cell, right, down) =>
      cell === null ? [0, 0] : [within(cell[0] + down, 0, cells.rows - 1), within(cell[1] + right, 0, cells.columns - 1)],
    box: ([row, column]) => ({ x: corner()[0] + column * frame.across, y: corner()[1] + row * frame.down, width: frame.across, height: frame.down }),
    describe: ([row, column]) => cells.describe(row, column),
  });
  keepDrawn(drawing, draw);
  return draw;
}

/** The size of a cell, and the room for names on the left and above; rows too low for their names have none. */
function frameOf({ rows, columns, rowNames, columnNames, bands, square }, width) {
  if (square) {
    const side = Math.min(width / columns, MAP_HEIGHT / rows);
    return { left: 0, top: 0, across: side, down: side };
  }
  const fits = rowNames && rows * CELL.least <= 1.6 * MAP_HEIGHT;
  const down = within(MAP_HEIGHT / rows, fits ? CELL.least : 1, CELL.most);
  const left = fits ? Math.min(LABEL.share * width, LABEL.widest, 8 * largest(rowNames.map((name) => name.length)) + LABEL.gap) : 0;
  return { left, top: (bands ? BAND : 0) + (columnNames ? 16 : 0), across: Math.min((width - left) / columns, CELL.widest), down };
}

function drawNames(context, { rowNames, columnNames, marked }, { left, top, across, down }) {
  context.font = `${Math.min(LABEL.size, down - 1)}px ${LABEL.font}`;
  context.textBaseline = "middle";
  const fits = (width) => (text) => context.measureText(text).width <= width;
  shortNames(left ? rowNames : [], fits(left - LABEL.gap)).forEach((name, i) => {
    context.fillStyle = color(marked?.row === i ? "accent" : "quiet");
    context.textAlign = "right";
    context.fillText(name, left - LABEL.gap, top + (i + 0.5) * down);
  });
  context.font = `${LABEL.size}px ${LABEL.font}`;
  context.fillStyle = color("quiet");
  context.textAlign = "center";
  shortNames(columnNames ?? [], fits(across)).forEach((name, i) => context.fillText(name, left + (i + 0.5) * across, 7));
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

/** Bands above the columns, in the colours of the clusters in the scatter plot. */
function drawBands(context, { bands }, { left, top, across }) {
  (bands ?? []).forEach((code, i) => {
    context.fillStyle = color(`group-${code % COLORS}`);
    context.fillRect(left + i * across, top - BAND, across - 1, BAND - 3);
  });
}

/** A line above each of some rows. */
function drawBorders(context, { columns, borders }, { across, down }) {
  context.strokeStyle = color("ink");
  context.lineWidth = 2;
  context.beginPath();
  for (const row of borders) {
    context.moveTo(0, row * down);
    context.lineTo(columns * across, row * down);
  }
  context.stroke();
}

/** Frames around the row, the column and the cell of the column of the data that was chosen. */
function outlineMarked(context, { rows, columns, marked }, { across, down }) {
  const { row = -1, column = -1, cell } = marked ?? {};
  context.strokeStyle = color("ink");
  context.lineWidth = 2;
  if (row >= 0) context.strokeRect(1, row * down, columns * across - 2, down);
  if (column >= 0) context.strokeRect(column * across, 1, across, rows * down - 2);
  if (cell) context.strokeRect(cell[1] * across + 1, cell[0] * down + 1, across - 2, down - 2);
}

function addScaleLegend(container, low, high, kind = "heat") {
  container.append(element("span", {}, low), element("span", { class: `scale ${kind}` }), element("span", {}, high));
}
