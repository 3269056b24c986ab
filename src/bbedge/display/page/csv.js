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

function tableCsv({ data, panel, facts, other }) {
  const texts = panel.table, number = (text) => (Number.isNaN(parseFloat(text)) ? null : parseFloat(text));
  const interval = (text) => (text ? `[${text}]` : null); // no number, so that no spreadsheet takes it for a formula
  const known = facts.names.map((name) => data.places.get(name));
  return csvOf([
    ["model", "best_rank", "worst_rank", ...(other ? ["best_rank_new", "worst_rank_new"] : []), "mean", "mean_items", "mean_interval", "difference_to_leader", "difference_interval", "beats", "loses_to",
      ...data.info.map((column) => column.title)],
    ...facts.names.map((name, i) => [name, i]).filter(([, i]) => !texts.withdrawn.includes(i)).map(([name, i]) => [
      name, ...texts.ranks[i], ...(other ? other.intervals[other.place.get(name)] : []), facts.mean(i), facts.meanItems(i), interval(texts.mean_intervals?.[i]), number(texts.behind[i]),
      interval(texts.behind_intervals?.[i]), ...texts.counts[i],
      ...data.info.map((column) => (column.links ? column.links[known[i]] : column.kind === "number" ? column.keys[known[i]] : column.texts[known[i]])),
    ]),
  ]);
}

// "other" is what is known of the same pairs on new items, if the page has both.
function pairsCsv({ facts, other }) {
  const { size, names, difference } = facts;
  const found = (from, a, b) => [
    from.above(a, b) ? "beats" : from.above(b, a) ? "loses to" : "open",
    ...(from.looked ? [from.margin(a, b), from.margin(b, a) === null ? null : -from.margin(b, a), from.logE(a, b), from.logE(b, a)]
      : [null, null, null, null]),
    ...(from.equal(a, b) === null ? [] : [from.equal(a, b) ? "yes" : "no"]),
  ];
  const heads = ["result", "at_least", "at_most", "log_e", "log_e_of_opposite", ...(facts.equal(0, 1) === null ? [] : ["equal"])];
  const rows = [["model", "other", heads[0], "difference", ...heads.slice(1), ...(other ? heads.map((head) => `${head}_new`) : [])]];
  for (let a = 0; a < size; a++) {
    for (let b = a + 1; b < size; b++) {
      const [result, ...numbers] = found(facts, a, b);
      const there = other ? found(other, other.place.get(names[a]), other.place.get(names[b])) : [];
      rows.push([names[a], names[b], result, difference(a, b), ...numbers, ...there]);
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
