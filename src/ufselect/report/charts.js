/* Line charts: scores by rank, alignment by number of columns and by cost, the spectrum, objective by iteration. */

const MOST_POINTS = 1000;
const CHART = { height: 320, left: 58, right: 16, top: 36, bottom: 50 };

function drawScores({ names, scores, selected }) {
  if (!byId("scores-drawing")) return;
  const around = Math.max(4 * selected, 50);
  const hasChoice = 2 * around < names.length;
  let count = hasChoice ? around : names.length;
  const draw = lineChart(byId("scores-drawing"), () => ({
    values: scores.slice(0, count),
    cut: selected,
    marked: chosen,
    titles: ["Rank", "Score"],
    describe: (i) => [names[i], `Rank ${grouped.format(i + 1)}`, `Score ${shortNumber(scores[i])}`],
  }));
  if (!hasChoice) return;
  addChoice(byId("scores-controls"), "Ranks shown", [`Best ${grouped.format(around)}`, "All columns"], 0, (index) => {
    count = index === 0 ? around : names.length;
    draw();
  });
}

function drawStructure(curves, { names, selected }) {
  if (!curves) return;
  const { alignment, r2, all, notFound } = curves;
  lineChart(byId("structure-drawing"), () => ({
    values: alignment,
    besides: [
      ...(r2 ? [{ values: r2, kind: "r2" }] : []),
      ...(notFound ? [{ values: notFound, kind: "not-found" }] : []),
    ],
    level: all,
    cut: Math.min(selected, alignment.length),
    dot: true,
    low: 0,
    marked: chosen,
    titles: ["Columns", "Alignment"],
    describe: (i) => [
      `Alignment ${alignment[i].toFixed(3)} of the best ${grouped.format(i + 1)}`,
      ...(notFound?.[i] === undefined ? [] : [`Columns not found ${notFound[i].toFixed(3)}`]),
      ...(r2 ? [`R² ${r2[i].toFixed(3)}`] : []),
      `Last added: ${names[i]}`,
    ],
  }));
  const texts = {
    main: "best columns",
    "not-found": notFound && "random columns not found",
    level: all !== null && `all columns: ${all.toFixed(2)}`,
    r2: r2 && "R²",
  };
  addLineLegend(byId("structure-legend"), Object.entries(texts).filter(([, text]) => text));
}

/** What more money buys: steps of alignment, a dot on the selection, and a line at its budget. */
function drawCosts(curve) {
  if (!curve) return;
  const { costs, alignment, chosen: selected, budget, columns, counts, unit } = curve;
  const ofBudget = budget === null ? "" : ` within ${grouped.format(budget)}`;
  lineChart(byId("costs-drawing"), () => ({
    values: alignment,
    places: costs,
    cut: selected + 1,
    cutPlace: budget ?? costs[selected],
    cutText: `${alignment[selected].toFixed(2)} for ${grouped.format(costs[selected])}${ofBudget}`,
    dot: true,
    plain: true,
    low: 0,
    titles: ["Cost", "Alignment"],
    describe: (i) => [
      `Alignment ${alignment[i].toFixed(3)} for ${grouped.format(costs[i])}${i === selected ? ", as selected" : ""}`,
      `${counted(counts[i], unit)}: ${columns[i].join(", ")}${counts[i] > columns[i].length ? ", …" : ""}`,
    ],
  }));
}

function addLineLegend(container, entries) {
  container.append(...entries.map(([kind, text]) =>
    element("span", { class: "key" }, element("span", { class: `stroke ${kind}` }), text)));
}

/** The mean of all columns in the order of the file, and the selected ones. */
function drawSpectrum(spectrum, { names, selected }) {
  if (!spectrum) return;
  const { mean, spread } = spectrum;
  const columns = unpacked(spectrum.columns, Uint32Array);
  const ranks = inverse(columns);
  const band = { low: mean.map((value, i) => value - spread[i]), high: mean.map((value, i) => value + spread[i]) };
  lineChart(byId("spectrum-drawing"), () => ({
    values: mean,
    band,
    marks: [...columns.slice(0, selected)],
    marked: chosen === null ? null : columns[chosen],
    titles: ["Column", "Mean"],
    describe: (i) => [names[ranks[i]], `Mean ${shortNumber(mean[i])} ± ${shortNumber(spread[i])}`, rankText(ranks[i], selected)],
  }));
}

const rankText = (rank, selected) => `Rank ${grouped.format(rank + 1)}, ${rank < selected ? "selected" : "not selected"}`;

function inverse(order) {
  const indices = new Uint32Array(order.length);
  order.forEach((value, index) => (indices[value] = index));
  return indices;
}

function drawConvergence(values) {
  if (!byId("convergence-drawing")) return;
  lineChart(byId("convergence-drawing"), () => ({
    values,
    dots: values.length <= 60,
    titles: ["Iteration", "Objective"],
    describe: (i) => [`Iteration ${i + 1}`, `Objective ${shortNumber(values[i])}`],
  }));
}

/**
 * Draws a line chart and redraws it on resize; what() returns values, titles and texts, and, if there are any,
 * besides: further lines; band: low and high; level: a value of its own; marks: indices; marked: one that stands out;
 * places: ascending positive numbers across where the values begin, as steps.
 */
function lineChart(drawing, what) {
  let chart = null;
  const draw = () => {
    hide();
    chart = scaled(what(), drawing.clientWidth);
    drawing.replaceChildren(lineSvg(chart));
  };
  const hide = makeExplorable(drawing, {
    round: true,
    at: (x) => within(chart.rankAt(x), 1, chart.values.length) - 1,
    next: (i, right) => (i === null ? 0 : within(i + right, 0, chart.values.length - 1)),
    box: (i) => ({ x: chart.x(i + 1) - 6, y: chart.y(chart.values[i] ?? chart.low) - 6, width: 12, height: 12 }),
    describe: (i) => chart.describe(i),
  });
  keepDrawn(drawing, draw);
  return draw;
}

/** Adds the scales to a chart: x of a rank and y of a value, in pixels. */
function scaled(chart, width) {
  const drawn = [chart.values, ...(chart.besides ?? []).map((line) => line.values), chart.band?.low ?? [], chart.band?.high ?? []];
  const known = drawn.flat().concat(chart.level ?? []).filter((value) => value !== null);
  const ticks = niceTicks(chart.low ?? smallest(known), largest(known), 5);
  const [low, high] = [ticks[0], ticks[ticks.length - 1]];
  const { left, right, top, bottom, height } = CHART;
  const { places } = chart;
  const [first, last] = places ? [0, Math.max(places.at(-1), chart.cutPlace)] : [1, Math.max(chart.values.length, 2)];
  const unitWidth = (width - left - right) / (last - first || 1);
  const across = (place) => left + (place - first) * unitWidth;
  // Dividing by the largest value first keeps even the smallest and largest floats in proportion.
  const unit = Math.max(Math.abs(low), Math.abs(high));
  const shareBelow = (value) => (value / unit - low / unit) / (high / unit - low / unit);
  return {
    ...chart, width, ticks, low, first, last, across,
    x: (rank) => across(places ? places[rank - 1] : rank),
    y: (value) => height - bottom - shareBelow(value) * (height - top - bottom),
    rankAt: (x) => {
      const place = first + (x - left) / unitWidth;
      return places ? 1 + places.findLastIndex((each) => each <= place) : Math.round(place);
    },
  };
}

/** Round numbers from low to high; only these two if rounding would overflow or underflow. */
function niceTicks(low, high, count) {
  if (!(high > low)) [low, high] = spreadAround(low);
  const raw = high / count - low / count;
  if (raw < 1e-290 || raw > 1e290) return [low, high];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw * 0.999);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function spreadAround(value) {
  const half = Math.abs(value || 1) / 2 || Number.MIN_VALUE;
  return [value - half, value + half].map((each) => within(each, -Number.MAX_VALUE, Number.MAX_VALUE));
}

function lineSvg(chart) {
  const { width } = chart;
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${CHART.height}`, width, height: CHART.height, "aria-hidden": true });
  svg.append(...gridLines(chart), ...rankTicks(chart), ...axisTitles(chart));
  const kept = thinned(chart.values, chart.cut);
  if (chart.band) svg.append(bandBetween(chart));
  if (typeof chart.level === "number") svg.append(lineAcross(chart, chart.level));
  svg.append(...(chart.marks ?? []).map((i) => lineUp(chart, i, "mark")));
  if (chart.cut) svg.append(...cutAt(chart, kept));
  for (const { values, kind } of chart.besides ?? []) {
    svg.append(svgElement("path", { class: `line beside ${kind}`, d: pathThrough({ ...chart, values }, thinned(values)) }));
  }
  svg.append(svgElement("path", { class: `line ${chart.kind ?? "main"}`, d: pathThrough(chart, kept) }));
  if (chart.dots) svg.append(...kept.map((i) => dotAt(chart, i)));
  if (chart.dot) svg.append(dotAt(chart, chart.cut - 1));
  if (isWithin(chart.marked, chart.values)) svg.append(lineUp(chart, chart.marked, "marked"), markedDot(chart));
  return svg;
}

const isWithin = (i, values) => typeof i === "number" && i < values.length && values[i] !== null;

const lineAcross = ({ y, width }, value) =>
  svgElement("line", { class: "level", x1: CHART.left, x2: width - CHART.right, y1: y(value), y2: y(value) });

const lineUp = ({ x }, i, kind) =>
  svgElement("line", { class: kind, x1: x(i + 1), x2: x(i + 1), y1: CHART.top, y2: CHART.height - CHART.bottom });

const markedDot = (chart) =>
  svgElement("circle", { class: "marked", cx: chart.x(chart.marked + 1), cy: chart.y(chart.values[chart.marked]), r: 5 });

function bandBetween(chart) {
  const [above, below] = [chart.band.high, chart.band.low].map((values) => ({ ...chart, values: values.slice(0, chart.values.length) }));
  const indices = thinned(above.values);
  return svgElement("path", { class: "band", d: `${pathThrough(above, indices)}${pathThrough(below, indices.toReversed()).replace("M", "L")}Z` });
}

/** Indices of values to draw: about a thousand at most, including both ends and both sides of the cut. */
function thinned(values, cut) {
  const stride = Math.max(1, Math.ceil(values.length / MOST_POINTS));
  const kept = (i) => i % stride === 0 || i === values.length - 1 || (cut && (i === cut - 1 || i === cut));
  return [...values.keys()].filter((i) => values[i] !== null && kept(i));
}

function pathThrough(chart, indices) {
  const points = indices.map((i) => [chart.x(i + 1).toFixed(1), chart.y(chart.values[i]).toFixed(1)]);
  if (!chart.places) return points.map(([x, y], k) => `${k ? "L" : "M"}${x} ${y}`).join("");
  return `${points.map(([x, y], k) => (k ? `H${x}V${y}` : `M${x} ${y}`)).join("")}H${chart.across(chart.last).toFixed(1)}`;
}

const dotAt = (chart, i) =>
  svgElement("circle", { class: "dot", cx: chart.x(i + 1), cy: chart.y(chart.values[i]), r: 4 });

function gridLines({ ticks, y, width, write = shortNumber }) {
  return ticks.flatMap((tick) => [
    svgElement("line", { class: "grid", x1: CHART.left, x2: width - CHART.right, y1: y(tick), y2: y(tick) }),
    svgElement("text", { x: CHART.left - 8, y: y(tick) + 4, "text-anchor": "end" }, write(tick)),
  ]);
}

function rankTicks({ values, x, width, places, first, last, across }) {
  const wanted = width < 420 ? 3 : 6;
  if (places) {
    const labels = niceTicks(first, last, wanted).filter((tick) => tick >= first && tick <= last);
    return labels.map((tick) => tickText(across(tick), grouped.format(tick)));
  }
  const inside = niceTicks(1, Math.max(values.length, 2), wanted).filter((tick) => tick >= 1 && tick <= values.length && tick % 1 === 0);
  const ticks = inside.includes(1) || x(inside[0]) - x(1) < 40 ? inside : [1, ...inside];
  return ticks.map((tick) => tickText(x(tick), grouped.format(tick)));
}

const tickText = (x, text) => svgElement("text", { x, y: CHART.height - CHART.bottom + 20, "text-anchor": "middle" }, text);

function axisTitles({ titles, width }) {
  const [across, up] = titles;
  const middle = (CHART.left + width - CHART.right) / 2;
  return [
    svgElement("text", { class: "title", x: middle, y: CHART.height - 6, "text-anchor": "middle" }, across),
    svgElement("text", { class: "title", x: 4, y: 12 }, up),
  ];
}

/** The area of the selected columns, and the dashed line after the last of them. */
function cutAt(chart, kept) {
  const { cut, cutPlace, x, values, width } = chart;
  const base = CHART.height - CHART.bottom;
  const between = cut < values.length && !chart.dot;
  const end = cutPlace !== undefined ? chart.across(cutPlace) : between ? (x(cut) + x(cut + 1)) / 2 : x(cut);
  const leftward = end > width / 2;
  const text = chart.cutText ?? (chart.dot ? `${values[cut - 1].toFixed(2)} with ${grouped.format(cut)}` : `${grouped.format(cut)} selected`);
  return [
    ...(chart.plain ? [] : [svgElement("path", { class: "area", d: areaUpTo(end, chart, kept.filter((i) => i < cut), base) })]),
    svgElement("line", { class: "cut", x1: end, x2: end, y1: CHART.top, y2: base }),
    svgElement("text", { class: "cut-text", x: end + (leftward ? -8 : 8), y: CHART.top - 10, "text-anchor": leftward ? "end" : "start" }, text),
  ];
}

/** The area below the line through some indices up to the end, which may be halfway to the next index. */
function areaUpTo(end, chart, indices, base) {
  if (indices.length === 0) return "";
  const { x, y, values, cut } = chart;
  const last = values[indices[indices.length - 1]];
  const height = end > x(cut) ? (y(last) + y(values[cut] ?? last)) / 2 : y(last);
  return `${pathThrough(chart, indices)}L${end.toFixed(1)} ${height.toFixed(1)}V${base}H${x(indices[0] + 1).toFixed(1)}Z`;
}
