// Where one model beats another: the items with the largest differences, of the view that is shown.
const MOST_WHERE = 15; // in each direction

function whereModels(data) {
  if (!data.items) return null;
  const [first, second] = [byId("where-a"), byId("where-b")];
  let content = null, view = "";

  async function load() {
    content ??= await unpacked(data.items);
    return content;
  }

  function place(text) {
    if (!text) return [];
    if (!/^https?:\/\//i.test(text)) return [make("span", text)];
    const link = make("a", text);
    link.href = text;
    link.rel = "noopener noreferrer nofollow";
    link.target = "_blank";
    return [link];
  }

  function line(it, a, b, { item, difference }) {
    const row = make("tr"), number = (value) => make("td", value.toFixed(data.decimals), "num");
    const name = make("th");
    name.scope = "row";
    name.append(make("bdi", it.items[item]));
    const sign = difference > 0 ? "+" : "";
    row.append(name, number(it.means[a][item]), number(it.means[b][item]), make("td", sign + difference.toFixed(data.decimals), "num"));
    if (it.addresses) {
      const at = make("td", undefined, "at");
      for (const model of [a, b]) {
        const each = make("div");
        each.append(...place(it.addresses[model][item]));
        at.append(each);
      }
      row.append(at);
    }
    row.className = difference > 0 ? "first" : "second";
    return row;
  }

  async function show() {
    const it = await load();
    const [a, b] = [it.models.indexOf(first.value), it.models.indexOf(second.value)];
    if (a < 0 || b < 0) return;
    const of = it.views[view] ?? it.items.map((_, i) => i);
    const found = of.filter((item) => it.means[a][item] !== null && it.means[b][item] !== null)
      .map((item) => ({ item, difference: it.means[a][item] - it.means[b][item] }));
    const ahead = found.filter((each) => each.difference > 0).sort((x, y) => y.difference - x.difference);
    const behind = found.filter((each) => each.difference < 0).sort((x, y) => x.difference - y.difference);
    byId("where-first").textContent = first.selectedOptions[0].text;
    byId("where-second").textContent = second.selectedOptions[0].text;
    byId("where-at").hidden = !it.addresses;
    const names = [first, second].map((select) => select.selectedOptions[0].text);
    byId("where-words").textContent = a === b ? "Choose two models."
      : `Of ${count(found.length, "item")}, ${names[0]} has the higher mean on ${ahead.length.toLocaleString("en")}, ` +
        `${names[1]} on ${behind.length.toLocaleString("en")}; ${(found.length - ahead.length - behind.length).toLocaleString("en")} are equal.`;
    const shown = [...ahead.slice(0, MOST_WHERE), ...behind.slice(0, MOST_WHERE).reverse()];
    byId("where-rows").replaceChildren(...(a === b ? [] : shown.map((each) => line(it, a, b, each))));
  }

  for (const select of [first, second]) select.addEventListener("change", show);
  return {
    // The models and items of another view.
    async enter(name, names, labels) {
      view = name;
      const it = await load(), before = [first.value, second.value], held = new Set(it.models);
      for (const select of [first, second]) {
        select.replaceChildren(...names.flatMap((each, i) => {
          if (!held.has(each)) return [];
          const option = make("option", labels[i]);
          option.value = each;
          return [option];
        }));
      }
      const options = [...first.options].map((option) => option.value);
      first.value = options.includes(before[0]) ? before[0] : options[0];
      second.value = options.includes(before[1]) ? before[1] : options[1];
      await show();
    },
    has: (name) => [...first.options].some((option) => option.value === name),
    async show(a, b, move) {
      first.value = a;
      second.value = b;
      await show();
      if (move) byId("where").scrollIntoView();
    },
  };
}
