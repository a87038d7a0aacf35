/* What the site adds where scripts run: a search, buttons that copy code, and the
   lessons that were read to their end. Every page is complete without it. */
"use strict";
const root = document.currentScript.dataset.root;
const $ = (selector, from = document) => [...from.querySelectorAll(selector)];
const make = (tag, options, ...children) => {
  const node = Object.assign(document.createElement(tag), options);
  node.append(...children);
  return node;
};

// search: the index is loaded with the first letter
const input = $('input[name="q"]')[0];
const loadIndex = () => new Promise((done) => {
  if (window.searchIndex) return done(window.searchIndex);
  document.head.append(make("script", {
    src: `${root}search.js`, onload: () => done(window.searchIndex),
  }));
});
const rank = ([title, , of], terms) => {
  const name = title.toLowerCase(), all = `${name} ${of.toLowerCase()}`;
  if (!terms.every((term) => all.includes(term))) return 0;
  const query = terms.join(" ");
  return name === query ? 4 : name.startsWith(query) ? 3
    : terms.every((term) => name.includes(term)) ? 2 : 1;
};
const find = (index, text, most) => {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!terms.length) return [];
  return index.map((entry) => [rank(entry, terms), entry]).filter(([n]) => n)
    .sort(([a, x], [b, y]) => b - a || x[0].length - y[0].length)
    .slice(0, most).map(([, entry]) => entry);
};
const results = make("div", { className: "results", hidden: true });
results.setAttribute("role", "region");
results.setAttribute("aria-label", "Results of the search");
input.form.append(results);
const show = async () => {
  const text = input.value.trim();
  const found = text ? find(await loadIndex(), text, 12) : [];
  if (text !== input.value.trim()) return;  // a later letter was typed meanwhile
  results.replaceChildren(...found.map(([title, address, of]) =>
    make("a", { href: root + address }, title, make("span", { textContent: of }))));
  if (text && !found.length) results.append(`Nothing has the words ${text}.`);
  results.hidden = !text;
};
input.addEventListener("input", show);
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
  if (event.key === "/" && !typing) {
    event.preventDefault();
    input.focus();
  } else if (event.key === "Escape") {
    if (results.contains(document.activeElement)) input.focus();
    results.hidden = true;
  } else if (/^Arrow(Up|Down)$/.test(event.key) && input.form.contains(document.activeElement)) {
    const all = [input, ...$("a", results)];
    const next = all.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    if (all[next]) {
      event.preventDefault();
      all[next].focus();
    }
  }
});
document.addEventListener("click", (event) => {
  if (!input.form.contains(event.target)) results.hidden = true;
});

// the page of the index shows the answers to the form
const asked = new URLSearchParams(location.search).get("q");
if (asked && document.body.classList.contains("index")) {
  input.value = asked;
  const terms = asked.toLowerCase().split(/\s+/).filter(Boolean);
  let n = 0;
  for (const item of $(".entries li")) {
    const text = item.textContent.toLowerCase();
    item.hidden = !terms.every((term) => text.includes(term));
    n += !item.hidden;
  }
  const line = $(".found")[0];
  line.textContent = `${n} entries have the words ${asked}.`;
  line.hidden = false;
}

// a button that copies the code of a block
for (const block of $("pre.code, pre.source")) {
  const button = make("button", { className: "copy", type: "button", textContent: "Copy" });
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(block.innerText.replace(/\n$/, ""));
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(block);  // the reader copies it by hand
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  const box = make("div", { className: "copied" });
  block.before(box);
  box.append(block, button);
}

// the keyboard stops only at regions that can be scrolled
const regions = $('pre[tabindex], .scroll[tabindex], .math[tabindex], .equations[tabindex]');
const stops = () => {
  for (const region of regions) {
    const scrolls = region.scrollWidth > region.clientWidth;
    if (scrolls) region.tabIndex = 0; else region.removeAttribute("tabindex");
  }
};
stops();
addEventListener("resize", stops);

// lessons that were read to their end have a mark in the list
try {
  const key = (link) => `read ${link.split("/").slice(-2)[0]}`;
  for (const link of $('aside a[href$="index.html"]')) {
    if (localStorage.getItem(key(link.href))) link.append(make("span", {
      className: "read", textContent: " ✓", title: "read to its end",
    }));
  }
  if (/\/book\/[^/]+\/index\.html$/.test(location.pathname)) {
    new IntersectionObserver((seen) => {
      if (seen.some((entry) => entry.isIntersecting)) {
        localStorage.setItem(key(location.pathname), "1");
      }
    }).observe($("nav.ends")[0]);
  }
} catch { /* a browser that keeps nothing for pages from files */ }
