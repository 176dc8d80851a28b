"use strict";
for (const e of document.querySelectorAll(".needs-js")) e.hidden = false;
for (const b of document.querySelectorAll("button[data-copy]")) {
  b.addEventListener("click", async () => {
    const what = document.getElementById(b.dataset.copy);
    try {
      await navigator.clipboard.writeText(what.textContent);
      b.textContent = "Copied";
    } catch { // a file opened from disk may not have a clipboard
      getSelection().selectAllChildren(what);
      b.textContent = "Selected";
    }
    setTimeout(() => { b.textContent = "Copy"; }, 1500);
  });
}
