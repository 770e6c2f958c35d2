"use strict";
(() => {
  const list = document.getElementById("list");
  const more = document.getElementById("more");
  const form = document.querySelector(".find");

  // Links open what they lead to.
  const show = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    if (!target) return;
    if (target.hidden) clear();
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView();
    const head = target.tagName === "DETAILS" ? target.querySelector("summary") : target;
    if (!head.hasAttribute("tabindex") && head.tagName !== "SUMMARY") head.tabIndex = -1;
    head.focus({ preventScroll: true });
  };
  addEventListener("hashchange", show);
  document.addEventListener("click", (event) => {
    const mark = event.target.closest("[data-row]");
    if (mark) location.hash = "row-" + mark.dataset.row;
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) show();
  });

  if (!list || !form) return show();
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  const words = document.getElementById("q");
  const rule = document.getElementById("by-rule");
  const found = document.getElementById("found");
  const items = Array.from(list.querySelectorAll("details.an"), (item) => ({ item, text: "", rules: item.dataset.rules }));
  // Which row it is, why, and the columns at fault: what else stands in a row would be found in all of them.
  const said = (item) => Array.from(item.querySelectorAll(".id, .why, .at > dt"), (part) => part.textContent)
    .join(" ").toLowerCase().replace(/\s+/g, " ");
  const clear = () => { words.value = ""; rule.value = ""; filter(); };
  const filter = () => {
    const wanted = words.value.toLowerCase().trim().replace(/\s+/g, " ");
    // Words in any order, unless they are as short as those of a rule.
    const each = wanted.split(" ").every((word) => word.length > 2) ? wanted.split(" ") : [wanted];
    let count = 0;
    for (const one of items) {
      one.text = one.text || said(one.item);
      const fits = each.every((word) => one.text.includes(word)) && (!rule.value || one.rules.includes(` ${rule.value} `));
      one.item.hidden = !fits;
      count += fits;
    }
    const any = wanted || rule.value;
    for (const event of list.querySelectorAll("details.ev")) {
      const fits = event.querySelector("details.an:not([hidden])");
      event.hidden = !fits;
      if (any && fits) event.open = true;
    }
    for (const line of list.querySelectorAll(".from-here")) line.hidden = Boolean(any);
    if (more) { more.classList.toggle("all", Boolean(any)); if (any) more.open = true; }
    found.value = any ? `${count} of ${items.length} anomalies` : "";
  };
  words.addEventListener("input", filter);
  rule.addEventListener("change", filter);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) { event.preventDefault(); words.focus(); }
    if (event.key === "Escape" && event.target === words) clear();
  });
  show();
})();
