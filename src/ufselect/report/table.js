/* The table of columns: sorting, search, pages, download, and details. Columns of the data are identified by their rank, from 0. */

const ROWS_A_PAGE = 25;
const LONGEST_NAME = 120; // that the table shows as a whole
const MOST_OF_A_NAME = 300;
const SAME = 0.9995; // absolute correlation that rounds to 1.00 from here on
const HISTOGRAM = { width: 84, height: 22 };

function drawTable(columns, download) {
  const features = asShown(columns);
  const view = { key: "rank", rising: true, query: "", selectedOnly: true, page: 0 };
  const fields = tableFields(features);
  for (const key of ["found", "tested"]) if (features.significance) features.significance[key] = unpacked(features.significance[key], Uint8Array);
  const lowered = features.names.map((name, i) => [name, ...(features.levels?.[i] ?? [])].join(" ").toLowerCase());
  let found = [];

  const search = () => {
    found = matching(features, lowered, view);
    sortBy(found, fields.find((field) => field.key === view.key), view.rising);
    view.page = 0;
    showCount(found, features, view);
    turn(0);
  };
  const turn = (pages) => {
    const last = Math.max(0, Math.ceil(found.length / ROWS_A_PAGE) - 1);
    view.page = within(view.page + pages, 0, last);
    showRows(found.slice(view.page * ROWS_A_PAGE, (view.page + 1) * ROWS_A_PAGE), fields, features);
    showPage(view.page, last);
  };

  addHeads(fields, view, search);
  byId("search").addEventListener("input", (event) => {
    view.query = event.target.value.toLowerCase();
    search();
  });
  addChoice(byId("columns-controls"), "Rows of the table", ["Selected only", "All columns"], 0, (index) => {
    view.selectedOnly = index === 0;
    search();
  });
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  printWhole(view, search, turn);
  byId("download").addEventListener("click", () => save(rankingCsv(features), download));
  search();
}

/** The variables, if several columns encode one, with what is known of them; else the columns. */
function asShown(columns) {
  const { variables } = columns;
  return variables ? { ...columns, ...variables, shorts: shortNames(variables.names, (text) => text.length <= LONGEST_NAME) } : columns;
}

/** The rank from 0 by which figures know what stands in a row. */
const rankIn = ({ ranks }, i) => (ranks ? ranks[i] : i);

/** Prints the best selected columns, whatever the table shows. */
function printWhole(view, search, turn) {
  let before = null;
  window.addEventListener("beforeprint", () => {
    before = { ...view };
    Object.assign(view, { key: "rank", rising: true, query: "", selectedOnly: true });
    search();
  });
  window.addEventListener("afterprint", () => {
    Object.assign(view, before);
    search();
    turn(before.page);
  });
}

/** The columns of the table: the value to sort by, and the text or the element to show. */
function tableFields(features) {
  const { names, scores, gains, costs, significance, stability, missing, distinct, r2, standsFor, roles } = features;
  const known = (values) => (i) => values[i] ?? null;
  return [
    { key: "rank", title: "Rank", value: (i) => i + 1, show: (i) => grouped.format(i + 1) },
    { key: "name", title: "Name", value: (i) => names[i], show: (i) => names[i] },
    ...(roles ? [{ key: "role", title: "Role", hint: "What the column is", value: known(roles), show: (i) => roles[i] ?? "–" }] : []),
    { key: "values", title: "Values", hint: "Histogram from the smallest to the largest value", value: (i) => features.ranges[i]?.[1] ?? null,
      show: (i) => (features.histograms[i] ? histogram(features, i) : levelsText(features, i)), largestFirst: true },
    { key: "distinct", title: "Distinct", hint: "Number of distinct values", largestFirst: true, value: known(distinct),
      show: (i) => (distinct[i] === undefined ? "–" : grouped.format(distinct[i])) },
    ...(missing ? [{ key: "missing", title: "Missing", hint: "Share of missing values in the file", largestFirst: true, value: known(missing),
      show: (i) => percent(missing[i]) }] : []),
    gains
      ? { key: "gain", title: "Gain", hint: "Gain in alignment with the structure over the columns ranked before it",
          largestFirst: true, value: known(gains), show: (i) => gains[i]?.toFixed(4) ?? "–" }
      : { key: "score", title: "Score", largestFirst: true, value: known(scores), show: (i) => evenNumber(scores[i]) },
    ...(costs ? [{ key: "cost", title: "Cost", hint: "What the column costs, or its group", value: known(costs),
      show: (i) => (typeof costs[i] === "number" ? grouped.format(costs[i]) : "–") }] : []),
    ...(significance ? [{ key: "q", title: "q", hint: `Smallest false discovery rate at which the column is found to share structure with others; at most ${significance.rate} counts as found`,
      value: known(significance.q), show: (i) => qWithMark(significance, i) }] : []),
    ...(stability ? [{ key: "stability", title: "Stability", hint: `Share of ${features.subsets} from which the column is selected, too; the mark is chance level`,
      largestFirst: true, value: known(stability), show: (i) => stabilityBar(features, i) }] : []),
    ...(r2 ? [{ key: "r2", title: "R²", hint: "How well the selected columns, or the others of them, predict the column: 1 is exactly, 0 not at all (cross-validated)",
      largestFirst: true, value: known(r2), show: (i) => r2[i]?.toFixed(2).replace("-0.00", "0.00") ?? "–" }] : []),
    { key: "stands", title: "Stands for", hint: "Columns not selected whose most similar selected column is this one, with an absolute correlation of at least 0.5",
      largestFirst: true, value: (i) => standsFor[i]?.count ?? null, show: (i) => element("span", {}, ...breakable(standsForText(features, i))) },
  ];
}

function histogram({ histograms, ranges }, i) {
  const heights = unpacked(histograms[i], Uint8Array);
  const { width, height } = HISTOGRAM;
  const across = width / heights.length;
  const bars = [...heights].map((value, k) => `M${(k * across).toFixed(1)} ${height}v${(-value / 255 * height).toFixed(1)}h${(across - 0.6).toFixed(1)}V${height}z`);
  const title = `From ${shortNumber(ranges[i][0])} to ${shortNumber(ranges[i][1])}`;
  return svgElement("svg", { class: "histogram", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title },
    svgElement("title", {}, title), svgElement("path", { d: bars.join("") }));
}

/** The levels of a category, as far as there is room. */
function levelsText({ levels }, i) {
  const text = levels?.[i]?.join(", ");
  return text ? element("span", { class: "levels", title: text }, text) : "–";
}

/** The q-value, and a word if the column is not found. */
function qWithMark({ q, found, tested }, i) {
  const text = q[i] < 0.001 ? "<\u00a00.001" : q[i].toFixed(3);
  const word = tested[i] ? "not found" : "not tested";
  return found[i] ? text : element("span", {}, element("span", { class: "not-found" }, word), " ", element("span", {}, text));
}

function stabilityBar({ stability, stabilityByChance }, i) {
  const [fill, chance] = [element("span", { class: "fill" }), element("span", { class: "chance" })];
  fill.style.width = `${100 * stability[i]}%`;
  chance.style.left = `${100 * stabilityByChance}%`;
  return element("span", { class: "stable" }, element("span", { class: "bar" }, fill, chance), element("span", {}, `${Math.round(100 * stability[i])}\u00a0%`));
}

function standsForText(features, i) {
  const { count, nearest } = features.standsFor[i] ?? { count: 0 };
  if (!count) return "–";
  const more = count > 1 ? ` and ${grouped.format(count - 1)} more` : "";
  return `${similarText(features, nearest[0])}${more}`;
}

const similarText = ({ shorts, copies }, [rank, value]) => `${shorts[rank]} (${copies[rank] ? "copy" : value.toFixed(2)})`;

/** Which other column says the same as this one, and with which it is tied. */
function notesOn({ shorts, copies, alike, ties, standsFor }, i) {
  const notes = [];
  const [like, value] = alike[i] ?? [];
  if (like !== undefined) notes.push(copies[i] ? `exact copy of ${shorts[like]}` : `near-copy of ${shorts[like]} (${value.toFixed(2)})`);
  const [twin, likeness] = standsFor[i]?.nearest?.[0] ?? [];
  if (likeness >= SAME) notes.push(`${shorts[twin]} says the same`);
  const [first, last] = ties.find(([first, last]) => first <= i && i <= last) ?? [];
  if (last - first === 1) notes.push(`tied with rank ${grouped.format(i === first ? last + 1 : first + 1)}`);
  else if (last) notes.push(`tied with ranks ${grouped.format(first + 1)} to ${grouped.format(last + 1)}`);
  return notes;
}

function matching({ names, selected }, lowered, { query, selectedOnly }) {
  const found = [];
  const count = selectedOnly ? selected : names.length;
  for (let i = 0; i < count; i++) if (lowered[i].includes(query)) found.push(i);
  return found;
}

const collator = new Intl.Collator("en", { numeric: true });

/** Sorts in place; missing values come last, and ties keep the order of ranks. */
function sortBy(found, field, rising) {
  const sign = rising ? 1 : -1;
  found.sort((i, j) => {
    const [a, b] = [field.value(i), field.value(j)];
    if (a === null || b === null) return (a === null) - (b === null) || i - j;
    return sign * (typeof a === "string" ? collator.compare(a, b) : a - b) || i - j;
  });
}

function addHeads(fields, view, search) {
  const heads = fields.map((field) => {
    const button = element("button", { type: "button", "data-key": field.key }, field.title);
    if (field.hint) button.title = field.hint;
    return element("th", { scope: "col", class: field.key }, button);
  });
  const mark = () =>
    heads.forEach((head, i) => {
      if (fields[i].key !== view.key) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", view.rising ? "ascending" : "descending");
    });
  heads.forEach((head, i) =>
    head.firstChild.addEventListener("click", () => {
      view.rising = view.key === fields[i].key ? !view.rising : !fields[i].largestFirst;
      view.key = fields[i].key;
      mark();
      search();
    }),
  );
  mark();
  byId("table").tHead.rows[0].append(...heads);
}

function showRows(shown, fields, features) {
  const body = byId("table").tBodies[0];
  body.replaceChildren();
  for (const i of shown) {
    const row = element("tr", { class: i < features.selected ? "column selected" : "column left" }, ...fields.map((field) => cell(field, i, features)));
    row.addEventListener("click", () => toggle(row, i, fields, features));
    body.append(row);
    if (rankIn(features, i) === chosen) open(row, i, fields, features);
  }
}

/** A cell; that of the name is a button, so that the keyboard opens the row, too. */
function cell(field, i, features) {
  if (field.key !== "name") return element("td", { class: field.key }, field.show(i));
  const button = element("button", { type: "button", "aria-expanded": false, dir: "auto" }, ...breakable(features.shorts[i]));
  const notes = notesOn(features, i);
  return element("td", { class: "name", title: field.show(i) }, button, ...(notes.length ? [element("span", { class: "note" }, ...breakable(notes.join("; ")))] : []));
}

/** A text whose lines may break within names, after an underscore and the like. */
const breakable = (text) => text.split(/(?<=_)|(?<=[./:-])(?=[A-Za-z])/).flatMap((part, k) => (k ? [element("wbr"), part] : [part]));

/** Opens what explains a column below its row, closes it if it is open, and highlights the column in all figures. */
function toggle(row, i, fields, features) {
  const opened = byId("table").querySelector("tr.details");
  const before = opened?.previousElementSibling;
  opened?.remove();
  before?.classList.remove("open");
  before?.querySelector("button").setAttribute("aria-expanded", false);
  if (before !== row) open(row, i, fields, features);
  choose(before === row ? null : rankIn(features, i));
}

function open(row, i, fields, features) {
  row.classList.add("open");
  row.querySelector("button").setAttribute("aria-expanded", true);
  row.after(element("tr", { class: "details" }, element("td", { colspan: fields.length }, ...details(fields, features, i))));
}

function details(fields, features, i) {
  const { names, explanations, standsFor, selected, levels } = features;
  const sentences = explanations[i] ?? [`${i < selected ? "S" : "Not s"}elected. What it contributes is shown by: ufselect explain … '${names[i].slice(0, MOST_OF_A_NAME)}'`];
  const facts = fields.filter(({ key }) => ["gain", "score", "cost", "distinct", "missing", "r2"].includes(key)).map((field) => `${field.title} ${field.show(i)}`);
  const { count, nearest } = standsFor[i] ?? { count: 0 };
  const more = count > (nearest?.length ?? 0) ? ` and ${grouped.format(count - nearest.length)} more` : "";
  const similar = count ? [`It stands for ${nearest.map((each) => similarText(features, each)).join(", ")}${more}.`] : [];
  return [
    element("p", { class: names[i].length > LONGEST_NAME ? "whole" : "whole narrow" }, names[i].slice(0, MOST_OF_A_NAME)),
    element("p", { class: "narrow" }, `${facts.join(", ")}.`),
    ...(levels?.[i] ? [element("p", {}, `Levels: ${levels[i].join(", ")}.`)] : []),
    ...sentences.map((sentence) => element("p", {}, sentence)),
    ...similar.map((sentence) => element("p", { class: count > 1 ? "" : "narrow" }, sentence)),
  ];
}

function showPage(page, last) {
  byId("page").textContent = `Page ${grouped.format(page + 1)} of ${grouped.format(last + 1)}`;
  byId("previous").disabled = page === 0;
  byId("next").disabled = page === last;
  byId("page").parentElement.hidden = last === 0;
}

function showCount(found, { names, selected }, { query, selectedOnly }) {
  const all = selectedOnly ? selected : names.length;
  const what = selectedOnly ? "selected column" : "column";
  byId("count").textContent = query ? `${grouped.format(found.length)} of ${counted(all, what)} found.` : `${counted(all, what)}.`;
}

function rankingCsv({ names, scores, gains, costs, significance, selected, stability, r2 }) {
  const columns = {
    rank: (i) => i + 1,
    name: (i) => quoted(names[i]),
    ...(gains && { gain: (i) => gains[i] ?? "" }),
    score: (i) => scores[i] ?? "",
    selected: (i) => i < selected,
    ...(costs && { cost: (i) => costs[i] ?? "" }),
    ...(significance && { q: (i) => significance.q[i] }),
    ...(stability && { stability: (i) => stability[i] }),
    ...(r2 && { r2: (i) => r2[i] ?? "" }),
  };
  const lines = names.map((_, i) => Object.values(columns).map((cell) => cell(i)).join(","));
  return [Object.keys(columns).join(","), ...lines, ""].join("\r\n");
}

const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function save(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = element("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
