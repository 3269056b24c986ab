// What the certificate says of the pairs of one view, models by their place in the table.
function comparisonsOf({ doc, data, panel }) {
  const { decimals, step } = data;
  const { order, labels } = panel;
  const size = order.length;
  const byPair = Boolean(doc.edges); // with very many models there are counts only
  const names = order.map((i) => doc.models[i].name);
  const place = new Map(names.map((name, i) => [name, i]));
  const logE = (a, b) => doc.log_e[order[a]][order[b]];
  const margin = (a, b) => doc.margins[order[a]][order[b]];
  const mean = (a) => doc.models[order[a]].mean;
  const meanItems = (a) => (mean(a) === null ? null : doc.models[order[a]].mean_items ?? doc.design.weights?.items ?? doc.items);
  // Means over different items are not comparable.
  const difference = (a, b) => ([a, b].some((i) => mean(i) === null || doc.models[order[i]].mean_items !== undefined) ? null : mean(a) - mean(b));

  // Edges by place, and everything that follows from them.
  function closure(edges) {
    const reach = Array.from({ length: size }, () => new Uint8Array(size));
    for (const [a, b] of edges) reach[a][b] = 1;
    for (let via = 0; via < size; via++) {
      for (let a = 0; a < size; a++) {
        if (!reach[a][via]) continue;
        const from = reach[a], over = reach[via];
        for (let b = 0; b < size; b++) from[b] |= over[b];
      }
    }
    return reach;
  }
  const certified = (doc.edges || []).map((edge) => [place.get(edge.winner), place.get(edge.loser), edge]);
  const ofLastLook = new Set((doc.current_edges || []).map(([winner, loser]) => place.get(winner) * size + place.get(loser)));
  const listed = data.shown === "current" && doc.current_edges
    ? certified.filter(([a, b]) => ofLastLook.has(a * size + b)) : certified;
  const direct = new Map(listed.map(([a, b, edge]) => [a * size + b, edge]));
  const reach = byPair ? closure(listed) : [];
  const above = (a, b) => reach[a][b] && !reach[b][a];
  const alike = new Set((doc.equal || []).flatMap(([one, other]) => {
    const a = place.get(one), b = place.get(other);
    return [a * size + b, b * size + a];
  }));
  const equal = (a, b) => (doc.equal ? alike.has(a * size + b) : null); // null where the design does not ask
  const evidence = new Map(panel.table.evidence.map(([a, b, share]) => [Math.min(a, b) * size + Math.max(a, b), share]));

  // Numbers as in the tables: bounds are rounded outward.
  const scale = 10 ** decimals;
  const atLeast = (value) => (Math.floor(value * scale) / scale).toFixed(decimals);
  const atMost = (value) => (Math.ceil(value * scale) / scale).toFixed(decimals);
  const signed = (text) => (text.startsWith("-") ? text : `+${text}`);

  // A number as Python writes it: halves go to the even digit, and nothing is minus zero.
  function fixed(value) {
    const text = value.toFixed(decimals), exact = value.toFixed(Math.min(100, decimals + 60));
    const kept = exact.slice(0, text.length), rest = exact.slice(text.length).replace(".", "");
    const even = /^50*$/.test(rest) && "02468".includes(kept.replace(/\D+$/, "").slice(-1));
    const written = even ? kept.replace(/\.$/, "") : text;
    return Number(written) === 0 ? written.replace("-", "") : written;
  }
  const nothing = (text) => (Number(text) === 0 ? "0" : signed(text)); // neither +0.0000 nor -0.0000
  const endTexts = ([low, high]) => [low === null ? null : nothing(atLeast(low)), high === null ? null : nothing(atMost(high))];

  // Where the true difference lies: both margins, and what the certified edges prove where that says more.
  function bounds(a, b) {
    const negated = (value) => (value === null ? null : -value);
    const proved = (one, other) => (step && !doc.contradictions.length ? longest(one, other) * step : step);
    const larger = (value, other) => (value === null ? other : Math.max(value, other));
    let [low, high] = [margin(a, b), negated(margin(b, a))];
    if (low === null && high === null) return [low, high];
    if (above(a, b)) low = larger(low, proved(a, b));
    if (above(b, a)) high = -larger(negated(high), proved(b, a));
    return [low, high];
  }
  function interval(a, b) {
    const [low, high] = bounds(a, b), pair = [names[a], names[b]];
    const isCrossed = (doc.crossed_intervals || []).some((each) => each.names.length === 2 && each.names.every((name) => pair.includes(name)));
    if ((low !== null && high !== null && low > high) || (reach[a][b] && reach[b][a]) || isCrossed) return "contradiction";
    if (low === null && high === null) return "not tested";
    const [least, most] = endTexts([low, high]);
    return high === null ? `at least ${least}` : low === null ? `at most ${most}` : `${least} to ${most}`;
  }

  function ranks(reached) {
    return names.map((_, i) => {
      let over = 0, under = 0;
      for (let j = 0; j < size; j++) {
        if (reached[j][i] && !reached[i][j]) over++;
        if (reached[i][j] && !reached[j][i]) under++;
      }
      return [1 + over, size - under];
    });
  }

  // Edges on the longest way from a to b: each of them proves a difference above tau.
  const children = names.map(() => []);
  for (const [a, b] of listed) children[a].push(b);
  const lengths = new Map();
  function longest(a, b) {
    const key = a * size + b;
    if (!lengths.has(key)) {
      lengths.set(key, 1); // a cycle would ask again; it proves nothing, and counts as one edge
      const ways = children[a].map((via) => (via === b || !above(via, b) ? 1 : 1 + longest(via, b)));
      lengths.set(key, Math.max(1, ...ways));
    }
    return lengths.get(key);
  }

  function lead(a, b) {
    const known = step && !doc.contradictions.length ? longest(a, b) * step : step;
    const bound = margin(a, b);
    if (bound !== null && bound > known && atLeast(bound) !== atLeast(known)) return `\u2265 ${atLeast(bound)}`;
    return `> ${known ? atLeast(known) : 0}`;
  }

  // A model that joins a board is compared with the others on their stored runs: what these certify came with it.
  const timeline = (doc.board?.timeline ?? []).filter((step) => step.epoch === doc.board.epoch);
  const joined = new Map(timeline.flatMap((step) => (step.kind === "add-model" ? step.names.map((name) => [name, step.event]) : [])));
  const lookOf = new Map(timeline.filter((step) => step.kind === "replicate").map((step) => [step.run, step.event]));
  function whenCertified(edge) {
    const run = edge.first_certified, since = (name) => joined.get(name) ?? 0;
    if (!run) return "before items were added";
    const late = since(edge.winner) > since(edge.loser) ? edge.winner : edge.loser;
    if (!(since(late) > lookOf.get(run))) return `at run\u00a0${run}`;
    return `when ${labels[place.get(late)]} was added, on run${run > 1 ? "s 1 to" : ""}\u00a0${run} of both`;
  }

  function proof(a, b) {
    const edge = direct.get(a * size + b);
    const parts = [`better by ${lead(a, b)}`];
    if (logE(a, b) !== null) parts.push(`log\u00a0e\u00a0${logE(a, b).toFixed(2)}`);
    parts.push(edge ? `certified ${whenCertified(edge)}` : "follows from other comparisons");
    if (equal(a, b)) parts.push(`by ${atMost(-margin(b, a))} at most: ${data.equal_within}`);
    return parts.join(" \u00b7 ");
  }

  function doubt(a, b) {
    const tested = [logE(a, b), logE(b, a)].filter((value) => value !== null);
    if (!tested.length) return "not tested by this design";
    const parts = [];
    if (margin(a, b) !== null && margin(b, a) !== null && margin(a, b) > -margin(b, a)) {
      return "contradiction";
    }
    if (margin(a, b) !== null && margin(b, a) !== null) {
      parts.push(`difference ${signed(atLeast(margin(a, b)))} to ${signed(atMost(-margin(b, a)))}`);
    }
    if (equal(a, b)) parts.push(data.equal_within);
    const share = evidence.get(Math.min(a, b) * size + Math.max(a, b));
    if (share) parts.push(`evidence ${share} of the threshold`);
    return parts.join(" \u00b7 ");
  }

  return {
    size, names, labels, place, byPair, looked: doc.looks.length > 0 || (!doc.target && Boolean(doc.parts?.length)), certified, listed, closure, above, ranks, logE, margin, equal, mean, meanItems, difference, proof, doubt, bounds, interval, endTexts,
    differenceText: (a, b) => (difference(a, b) === null ? "-" : signed(fixed(difference(a, b)))),
    intervals: panel.table.ranks,
  };
}
