/* Moves the figures of a page: sliders choose a frame, and the pointer or the keyboard
   reads a cell of a table. Python drew every frame and wrote every number; a page is
   complete without this script. */
"use strict";
{
  const make = (tag, options, ...children) => {
    const node = Object.assign(document.createElement(tag), options);
    node.append(...children);
    return node;
  };
  const cellsOf = (table) => [...table.tBodies[0].rows].map((row) =>
    [...row.cells].filter((cell) => cell.tagName === "TD"));

  // a table without its words, to lie over the picture of its numbers
  const overlay = (table) => {
    const copy = table.cloneNode(true);
    for (const words of copy.querySelectorAll("caption, thead, th")) words.remove();
    const [left, top, width, height] = table.dataset.box.split(" ").map((x) => `${x}%`);
    Object.assign(copy.style, { left, top, width, height });
    copy.className = "overlay";
    return copy;
  };

  // highlight the row and the column of a cell, and say its number
  const reader = (table, grid, say) => {
    const words = (part) => [...part.querySelectorAll("th")];
    const columns = words(table.tHead), rows = words(table.tBodies[0]);
    const cells = cellsOf(grid), { rows: down, columns: across } = table.dataset;
    let here = [0, 0];
    const mark = (i, j) => {
      cells.forEach((row, a) => row.forEach((cell, b) => {
        cell.classList.toggle("in-row", a === i);
        cell.classList.toggle("in-column", b === j);
      }));
      if (grid === table) {
        rows.forEach((word, a) => word.classList.toggle("chosen", a === i));
        columns.forEach((word, b) => word.classList.toggle("chosen", b === j));
      }
    };
    const choose = (i, j) => {
      cells[here[0]][here[1]].tabIndex = -1;
      here = [i, j];
      cells[i][j].tabIndex = 0;
      mark(i, j);
      say(`${down} ${rows[i].textContent}, ${across} ${columns[j].textContent}: `
        + cells[i][j].textContent);
    };
    const at = (event) => {
      const cell = event.target.closest("td");
      const i = cells.findIndex((row) => row.includes(cell));
      if (i >= 0) choose(i, cells[i].indexOf(cell));
    };
    grid.addEventListener("pointerover", at);
    grid.addEventListener("focusin", at);
    grid.addEventListener("pointerleave", () => mark(-1, -1));
    grid.addEventListener("focusout", () => mark(-1, -1));
    grid.addEventListener("keydown", (event) => {
      const [i, j] = here, end = cells[0].length - 1;
      const next = {
        ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1],
        ArrowRight: [i, j + 1], Home: [i, 0], End: [i, end],
      }[event.key];
      if (!next) return;
      event.preventDefault();
      cells[next[0]]?.[next[1]]?.focus();
    });
    grid.setAttribute("role", "grid");
    grid.setAttribute("aria-label",
      `${table.caption?.textContent ?? ""} ${down} by ${across}, arrow keys read it`);
    cells.flat().forEach((cell) => {
      cell.setAttribute("role", "gridcell");
      cell.tabIndex = -1;
    });
    cells[0][0].tabIndex = 0;
  };

  // sliders with words; show(k) shows frame number k
  const sliders = ([...named], start, show) => {
    const box = make("div", { className: "controls" });
    const inputs = named.map(([name, labels], k) => {
      const input = make("input", {
        type: "range", min: 0, max: labels.length - 1, step: 1, value: start[k],
      });
      const value = make("span", { className: "value" });
      input.tell = () => {
        value.textContent = labels[input.value];
        input.setAttribute("aria-valuetext", labels[input.value]);
      };
      input.addEventListener("input", () => { stop(); change(); });
      box.append(make("label", {}, `${name} `, input, value));
      return input;
    });
    const change = () => {
      inputs.forEach((input) => input.tell());
      show(inputs.reduce((k, input) => k * (+input.max + 1) + +input.value, 0), timer);
    };
    const play = make("button", { type: "button", className: "play", textContent: "Play" });
    let timer = 0;
    const stop = () => {
      clearInterval(timer);
      timer = 0;
      play.textContent = "Play";
    };
    const ended = () => inputs.every((input) => input.value === input.max);
    const step = () => {  // the last parameter first, as a counter does
      const next = inputs.findLastIndex((input) => input.value !== input.max);
      inputs.forEach((input, k) => { if (k > next) input.value = 0; });
      inputs[next]?.stepUp();
      if (ended()) stop();
      change();
    };
    play.addEventListener("click", () => {
      if (timer) return stop();
      if (ended()) step();
      timer = setInterval(step, 1200);
      play.textContent = "Stop";
      change();
    });
    box.append(play);
    change();
    return box;
  };

  for (const figure of document.querySelectorAll(".moving")) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const out = make("output", { className: "read-out" });
    const say = (text) => { out.textContent = text; };
    const image = figure.querySelector("img"), tables = [...figure.querySelectorAll("table.weights")];
    const rows = [...figure.querySelectorAll("table.frames tr")].slice(1);
    const top = image ? image.parentNode : figure.querySelector(".scroll");
    top.after(out);
    if (image) {
      const stage = make("div", { className: "stage" });
      image.before(stage);
      stage.append(image);
      for (const table of tables) {
        const over = overlay(table);
        stage.append(over);
        reader(table, over, say);
      }
    }
    for (const table of tables) reader(table, table, say);
    if (!data.sliders) continue;
    const file = image?.getAttribute("src");
    top.after(sliders(data.sliders, data.start, (k, playing) => {
      out.setAttribute("aria-live", playing ? "off" : "polite");
      if (image) image.src = `${file}#f${k}`;
      if (rows[k]) say(rows[k].lastElementChild.textContent);
      rows.forEach((row, n) => row.classList.toggle("chosen", n === k));
      const grids = data.values ? figure.querySelectorAll(".weights, .overlay") : [];
      for (const grid of grids) cellsOf(grid).forEach((cells, i) => {
        const values = data.values[k][i].split(" ");
        cells.forEach((cell, j) => {
          cell.textContent = values[j];
          cell.style.setProperty("--w", values[j]);
        });
      });
    }));
  }
}
