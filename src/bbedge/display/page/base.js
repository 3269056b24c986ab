// What every part of the page uses. Every text is set as text, never as markup, because names may contain markup.
"use strict";

const SVG = "http://www.w3.org/2000/svg";

const byId = (id) => document.getElementById(id);
const all = (selector) => [...document.querySelectorAll(selector)];
const count = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;
const rankText = ([best, worst]) => (best === worst ? `${best}` : `${best}-${worst}`);

function make(tag, text, kind) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

// A name that may go on in the next line before the signs that join its parts.
function named(text) {
  const element = make("bdi");
  element.append(...text.split(/(?=[@/_:])/).flatMap((part, i) => (i ? [make("wbr"), part] : [part])));
  return element;
}

function draw(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// A part of an address as it was before it became one.
const spelled = (text) => { try { return decodeURIComponent(text); } catch { return text; } };

// A number as people write it, by the rules of the table's columns; null if it is none.
function writtenNumber(text) {
  const found = /^[$\u20ac\u00a3]?([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s?([kmbt]?)$/i.exec(text.trim().replaceAll(",", ""));
  return found && Number(found[1]) * { "": 1, k: 1e3, m: 1e6, b: 1e9, t: 1e12 }[found[2].toLowerCase()];
}

// The bar of possible ranks, as the template draws it, with a dot at the rank of the mean where that is known.
function rankBar([best, worst], size, byMean) {
  const bar = draw("svg", { width: "100%", height: 14, "aria-hidden": "true" });
  bar.append(
    draw("use", { href: "#rank-ticks" }),
    draw("rect", {
      class: "span", y: 2, height: 10, rx: 2,
      x: `${(100 * (best - 1)) / size}%`, width: `${(100 * (worst - best + 1)) / size}%`,
    }),
  );
  if (byMean) bar.append(draw("circle", { class: "by-mean", cx: `${(100 * (byMean - 0.5)) / size}%`, cy: 7, r: 3 }));
  return bar;
}

// Texts that Python compressed.
async function unpacked(letters) {
  const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
