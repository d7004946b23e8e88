// The pages that stand in the file as they are: one is open at a time; all are where there is no script.
(() => {
  "use strict";
  const pages = document.getElementById("pages");

  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  // The page that holds the place a hash names, the overview where it names none; null where the hash asks for a view.
  function pageOf(hash) {
    if (hash.startsWith("#/")) return null;
    const place = hash.length > 1 && document.getElementById(decoded(hash.slice(1)));
    return (place && place.closest(".page")) || pages.querySelector(".page");
  }

  function turnTo(page) {
    for (const one of pages.querySelectorAll(".page")) one.classList.toggle("open", one === page);
    pages.hidden = page === null;
  }

  turnTo(pageOf(location.hash));
  document.getElementById("app").hidden = !pages.hidden;

  // What needs the data waits for it, in order.
  const waiting = [];
  window.Report = { decoded, pageOf, turnTo, withData: (part) => waiting.push(part) };

  async function unpacked(text) {
    const signs = atob(text);
    const bytes = new Uint8Array(signs.length);
    for (let position = 0; position < signs.length; position += 1) bytes[position] = signs.charCodeAt(position);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  document.addEventListener("DOMContentLoaded", async () => {
    window.Report.data = await unpacked(document.getElementById("data").textContent);
    for (const part of waiting) part();
    window.Report.ready = true;
  });
})();
