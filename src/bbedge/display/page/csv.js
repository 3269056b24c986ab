// Tables for other programs. Texts that a spreadsheet would run as a formula get a leading apostrophe; numbers do not.
function csvOf(rows) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = /^\s*[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

function tableCsv({ data, panel, facts }) {
  const texts = panel.table, number = (text) => (Number.isNaN(parseFloat(text)) ? null : parseFloat(text));
  const interval = (text) => (text ? `[${text}]` : null); // no number, so that no spreadsheet takes it for a formula
  const known = facts.names.map((name) => data.places.get(name));
  return csvOf([
    ["model", "best_rank", "worst_rank", "mean", "mean_items", "mean_interval", "difference_to_leader", "difference_interval", "beats", "loses_to",
      ...data.info.map((column) => column.title)],
    ...facts.names.map((name, i) => [
      name, ...texts.ranks[i], facts.mean(i), facts.meanItems(i), interval(texts.mean_intervals?.[i]), number(texts.behind[i]),
      interval(texts.behind_intervals?.[i]), ...texts.counts[i],
      ...data.info.map((column) => (column.links ? column.links[known[i]] : column.kind === "number" ? column.keys[known[i]] : column.texts[known[i]])),
    ]),
  ]);
}

function pairsCsv({ facts }) {
  const { size, names, above, margin, logE, difference } = facts;
  const rows = [["model", "other", "result", "difference", "at_least", "at_most", "log_e", "log_e_of_opposite"]];
  for (let a = 0; a < size; a++) {
    for (let b = a + 1; b < size; b++) {
      rows.push([
        names[a], names[b], above(a, b) ? "beats" : above(b, a) ? "loses to" : "open", difference(a, b),
        margin(a, b), margin(b, a) === null ? null : -margin(b, a), logE(a, b), logE(b, a),
      ]);
    }
  }
  return csvOf(rows);
}

function save(text, type, name) {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
