/* The table of columns: sorting, search, pages, download. Columns of the data are identified by their rank, from 0. */

const ROWS_A_PAGE = 25;

function drawTable(features, download) {
  const view = { key: "rank", rising: true, query: "", selectedOnly: true, page: 0 };
  const fields = tableFields(features);
  const lowered = features.names.map((name) => name.toLowerCase());
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
    showRows(found.slice(view.page * ROWS_A_PAGE, (view.page + 1) * ROWS_A_PAGE), fields);
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
  byId("download").addEventListener("click", () => save(rankingCsv(features), download));
  search();
}

/** The columns of the table: the value to sort by, and the text to show. */
function tableFields({ names, scores, selected, gains, redundancy }) {
  const isSelected = (i) => i < selected;
  const fields = [
    { key: "rank", title: "Rank", value: (i) => i + 1, text: (i) => grouped.format(i + 1) },
    { key: "name", title: "Name", value: (i) => names[i], text: (i) => names[i] },
    { key: "score", title: "Score", largestFirst: true, value: (i) => scores[i], text: (i) => evenNumber(scores[i]) },
    { key: "selected", title: "Selected", value: (i) => (isSelected(i) ? 0 : 1), text: (i) => (isSelected(i) ? "yes" : "no") },
  ];
  if (gains) {
    const gain = (i) => gains[i] ?? null;
    fields.push({ key: "gain", title: "Gain", largestFirst: true, hint: "What the column adds to the agreement of those ranked before it with the learned structure",
      value: gain, text: (i) => (gain(i) === null ? "–" : gain(i).toFixed(3)) });
  }
  const repeated = (i) => redundancy[i] ?? null;
  fields.push({ key: "redundancy", title: "Redundancy", largestFirst: true, hint: "Largest absolute correlation with another selected column",
    value: repeated, text: (i) => (repeated(i) === null ? "–" : repeated(i).toFixed(2)) });
  return fields;
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

function showRows(shown, fields) {
  const rows = shown.map((i) => element("tr", {}, ...fields.map((field) => cell(field, i))));
  byId("table").tBodies[0].replaceChildren(...rows);
}

function cell(field, i) {
  if (field.key === "selected") return element("td", { class: field.text(i) }, field.text(i));
  if (field.key !== "name") return element("td", { class: field.key }, field.text(i));
  return element("td", { class: "name", title: field.text(i), dir: "auto" }, field.text(i));
}

function showPage(page, last) {
  byId("page").textContent = `Page ${grouped.format(page + 1)} of ${grouped.format(last + 1)}`;
  byId("previous").disabled = page === 0;
  byId("next").disabled = page === last;
}

function showCount(found, { names, selected }, { query, selectedOnly }) {
  const all = selectedOnly ? selected : names.length;
  const what = selectedOnly ? "selected column" : "column";
  byId("count").textContent = query ? `${grouped.format(found.length)} of ${counted(all, what)} found` : counted(all, what);
}

function rankingCsv({ names, scores, selected }) {
  const lines = names.map((name, i) => `${i + 1},${quoted(name)},${scores[i] ?? ""},${i < selected}`);
  return ["rank,name,score,selected", ...lines, ""].join("\r\n");
}

const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function save(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = element("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
