// How the search of the site orders what it finds: guides first, then reference, then studies and logs of changes.
var Scorer = {
  // Sphinx asks for all of these numbers as soon as there is a scorer; they are its own.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  // By the start of the name of a document; the first that fits counts.
  shelves: [
    ["docs/tutorial/", 3],
    ["docs/howto/", 3],
    ["docs/concepts/", 3],
    ["docs/faq", 2.5],
    ["docs/reference/api/", 2.5],
    ["docs/reference/", 1],
    ["docs/architecture", 0.5],
    ["docs/walk", 0.5],
    ["docs/guarantees", 1],
    ["docs/", 2],
    ["examples/", 1.5],
    ["", 0.2],
  ],
  score: ([document, title, anchor, description, score]) =>
    score * Scorer.shelves.find(([start]) => document.startsWith(start))[1],
};
