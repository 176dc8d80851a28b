"use strict";
// Until the campaign has finished, the page loads itself again. If the coordinator has not
// written it for a minute, it shows a warning.
(() => {
  const { state, written } = document.body.dataset;
  if (state === "finished") return;
  document.getElementById("old").hidden = state !== "running" || Date.now() / 1000 - Number(written) < 60;
  setTimeout(() => location.reload(), 5000);
})();
