/* The page of a comparison: the overlap of selections, and the alignment curves of all methods. */

function drawPage({ methods, overlap, curves, selected }) {
  drawOverlap(methods, unpackedShares(overlap));
  drawCurves(curves, selected);
}

function drawOverlap(methods, shares) {
  if (!byId("overlap-drawing")) return;
  const size = methods.length;
  grid(byId("overlap-drawing"), () => ({
    rows: size,
    columns: size,
    rowNames: methods,
    borders: [],
    paint: scaleOver(colorScale("heat-0", "heat-1", "heat-2", "heat-3"), (row, column) => shares[row * size + column]),
    describe: (row, column) => [methods[row], methods[column], `${percent(shares[row * size + column])} shared`],
  }));
  addScaleLegend(byId("overlap-legend"), "0 %", "100 %");
}

function drawCurves(curves, selected) {
  if (!curves.length) return;
  const longest = curves.reduce((one, other) => (other.values.length > one.values.length ? other : one));
  const lines = curves.map(({ method, values }, i) => ({ method, values, kind: `series-${i}` }));
  const main = lines.find(({ method }) => method === longest.method);
  lineChart(byId("alignment-drawing"), () => ({
    ...main,
    besides: lines.filter((line) => line !== main),
    cut: Math.min(selected, main.values.length),
    plain: true,
    low: 0,
    titles: ["Columns", "Alignment"],
    describe: (i) => [
      `Best ${grouped.format(i + 1)}`,
      ...lines.filter(({ values }) => isWithin(i, values)).map(({ method, values }) => `${method} ${values[i].toFixed(3)}`),
    ],
  }));
  addLineLegend(byId("alignment-legend"), lines.map(({ method, kind }) => [kind, method]));
}
