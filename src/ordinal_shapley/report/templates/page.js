"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const columns = data.columns;
  const get = (id) => document.getElementById(id);
  const table = get("rows");
  const body = table.tBodies[0];
  const own = (title) => columns.find((column) => column.title === title && !column.own);
  const value = own("value").cells, low = own("low").cells, high = own("high").cells;
  const suspects = new Set(data.order.slice(0, data.suspects));
  const MAX_TEXT = 80;
  const collator = new Intl.Collator(undefined, { numeric: true });
  let shown = data.order.slice();
  let sorted = null;
  let page = 0;
  let size = data.page;
  let haystacks = null;

  function text(column, row) {
    const cell = column.cells[row];
    if (cell === null) return "\u2013";
    if (column.kind === "text") return cell;
    const plain = column.digits === null ? String(Number(cell.toPrecision(6))) : cell.toFixed(column.digits);
    return plain.replace("-", "\u2212");
  }

  function svg(name, attributes) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, content] of Object.entries(attributes)) element.setAttribute(key, content);
    return element;
  }

  // A dot on a line, beside a stroke at 0.
  function interval(row) {
    const [start, end] = data.scale;
    const at = (x) => (4 + ((x - start) / (end - start || 1)) * 120).toFixed(1);
    const picture = svg("svg", { viewBox: "0 0 128 16", "aria-hidden": "true" });
    picture.append(svg("path", { class: "rule zero", d: `M${at(0)} 0V16` }));
    if (value[row] === null) return picture;
    const colour = high[row] !== null && high[row] < 0 ? "var(--below)" : "var(--text)";
    if (low[row] !== null) {
      picture.append(svg("path", { d: `M${at(low[row])} 8H${at(high[row])}`, style: `stroke:${colour};stroke-width:2;opacity:.5` }));
    }
    picture.append(svg("circle", { cx: at(value[row]), cy: 8, r: 3, style: `fill:${colour}` }));
    return picture;
  }

  function line(row) {
    const tr = document.createElement("tr");
    if (suspects.has(row)) tr.className = "suspect";
    for (const column of columns) {
      const td = document.createElement("td");
      td.className = column.kind;
      td.dataset.title = column.title;
      const full = text(column, row);
      td.textContent = full.length > MAX_TEXT ? full.slice(0, MAX_TEXT - 1) + "\u2026" : full;
      if (full.length > MAX_TEXT) td.title = full;
      tr.append(td);
      if (column.title === "value" && !column.own) {
        const cell = document.createElement("td");
        cell.className = "interval";
        cell.dataset.title = "CI";
        cell.append(interval(row));
        tr.append(cell);
      }
    }
    return tr;
  }

  function show() {
    const pages = Math.max(1, Math.ceil(shown.length / size));
    page = Math.min(Math.max(page, 0), pages - 1);
    const first = page * size;
    const rows = shown.slice(first, first + size);
    body.replaceChildren(...rows.map(line));
    get("back").disabled = page === 0;
    get("next").disabled = page === pages - 1;
    const count = shown.length.toLocaleString("en");
    const all = data.order.length;
    get("status").textContent = rows.length
      ? `${(first + 1).toLocaleString("en")} to ${(first + rows.length).toLocaleString("en")} of ${count}` +
        (shown.length < all ? ` found in ${all.toLocaleString("en")}` : "")
      : "Nothing found";
  }

  function find() {
    const words = get("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length && !haystacks) {
      haystacks = data.order.map((_, row) => columns.map((column) => text(column, row)).join("\n").replaceAll("\u2212", "-").toLowerCase());
    }
    const needles = words.map((word) => word.replaceAll("\u2212", "-"));
    const only = get("suspects")?.checked;
    shown = data.order.filter(
      (row) => (!only || suspects.has(row)) && needles.every((word) => haystacks[row].includes(word)));
    sort();
    page = 0;
    show();
  }

  // Stable, and what is missing goes last either way; equal cells stay as the page opened.
  function sort() {
    if (!sorted) return;
    const { cells, kind } = columns[sorted.column];
    const sign = sorted.ascending ? 1 : -1;
    const compare = kind === "number" ? (a, b) => a - b : collator.compare;
    shown.sort((i, j) => {
      const a = cells[i], b = cells[j];
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * compare(a, b);
    });
  }

  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, index) => {
    const button = document.createElement("button");
    button.type = "button";
    const full = head.textContent.trim();
    button.textContent = full.length > MAX_TEXT ? full.slice(0, MAX_TEXT - 1) + "\u2026" : full;
    if (full.length > MAX_TEXT) button.title = full;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      sorted = { column: index, ascending: sorted?.column === index ? !sorted.ascending : true };
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sorted.ascending ? "ascending" : "descending");
      sort();
      page = 0;
      show();
    });
  });
  const drawn = document.createElement("th");
  drawn.className = "interval";
  drawn.scope = "col";
  drawn.textContent = "CI";
  heads[columns.indexOf(own("value"))].after(drawn);
  let waiting = 0;
  get("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(find, 120);
  });
  get("suspects")?.addEventListener("change", find);
  get("size").addEventListener("change", (event) => {
    size = Number(event.target.value);
    page = 0;
    show();
  });
  get("back").addEventListener("click", () => { page -= 1; show(); });
  get("next").addEventListener("click", () => { page += 1; show(); });
  for (const id of ["controls", "pages"]) get(id).hidden = false;
  show();
})();
