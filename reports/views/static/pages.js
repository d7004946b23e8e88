// The static pages of the report. One is visible at a time; without JavaScript all are.
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

  // The id of the element in a hash, without the filters after it: "differences" in #differences?kind=crash.
  const idIn = (hash) => decoded(hash.slice(1).split("?")[0]);
  const queryIn = (hash) => Object.fromEntries(new URLSearchParams(hash.split(/\?(.*)/s)[1] || ""));

  // The page that contains the element of a hash, or else the overview; null if the hash belongs to a view (#/…).
  function pageOf(hash) {
    if (hash.startsWith("#/")) return null;
    const id = idIn(hash);
    const place = id && document.getElementById(id);
    return (place && place.closest(".page")) || pages.querySelector(".page");
  }

  function turnTo(page) {
    for (const one of pages.querySelectorAll(".page")) one.classList.toggle("open", one === page);
    pages.hidden = page === null;
  }

  turnTo(pageOf(location.hash));
  document.getElementById("app").hidden = !pages.hidden;

  // The other scripts run in order after the data has been decompressed.
  const waiting = [];
  window.Report = { decoded, idIn, queryIn, pageOf, turnTo, withData: (script) => waiting.push(script) };

  async function decompressed(text) {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let position = 0; position < binary.length; position += 1) bytes[position] = binary.charCodeAt(position);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  document.addEventListener("DOMContentLoaded", async () => {
    window.Report.data = await decompressed(document.getElementById("data").textContent);
    for (const script of waiting) script();
    window.Report.ready = true;
  });
})();
