// Draws the timeline from the JSON beside it. Text from the history reaches the
// page through textContent and fillText only. One closure, since all of it turns
// on one view: what stretch of time, which tracks, which anomaly.
(() => {
  const $ = (id) => document.getElementById(id);
  for (const e of document.querySelectorAll(".needs-js")) e.hidden = false;

  const copy = $("copy");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText($("command").textContent);
      copy.textContent = "Copied";
    } catch { // a file opened from disk may not have a clipboard
      getSelection().selectAllChildren($("command"));
      copy.textContent = "Selected";
    }
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  });

  // On paper nothing can be opened.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const d of folded) d.open = true;
  });
  addEventListener("afterprint", () => { for (const d of folded) d.open = false; });

  const D = JSON.parse($("data").textContent);
  const canvas = $("canvas");
  if (!canvas) return;
  document.querySelector(".still").hidden = true;

  // What a field is called, and what it can be, results/report_data.go says; its lists are
  // never null.
  const { tracks: L, keys, anomalies: scenes, holds, waits, marks, bands, styles } = D;
  const span = [D.span[0], Math.max(D.span[1], D.span[0] + 1)];

  let view = span.slice(), chosen = -1, key = -1, tracks = L.map((_, i) => i);
  let width = 0, gutter = 0, rowH = 48, top0 = 38, height = 0, rowOf = [], hits = [], notes = [], stepAt = -1, C = {};

  // --- words ---------------------------------------------------------------
  const { instant, length: dur } = formatter(D.styles.lengths);
  const sec = (us, step) => instant(us, step ? Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / 1e6) - 1e-9))) : 3);
  const cut = (ctx, s, w) => {
    if (s.length > 80) s = s.slice(0, 80) + "…";
    if (ctx.measureText(s).width <= w) return s;
    while (s.length > 1 && ctx.measureText(s + "…").width > w) s = s.slice(0, -1);
    return s + "…";
  };
  const keyName = (k = 0) => (keys.length > 1 ? "key " + (keys[k] ?? k) : "");
  const holdWords = (h) => [
    L[h.track].name + " holds " + (h.grant || "the lock"), h.token ? "token " + h.token : "",
    "believes it from " + sec(h.from) + " to " + sec(h.to) + " (" + dur(h.to - h.from) + ")",
    styles.ends[h.ended].words,
    h.lease !== undefined ? "lease certain until " + sec(h.lease) + (h.lease < h.to ? ": " + dur(h.to - h.lease) + " held beyond it" : "") : "the lock promises no lease time",
    keyName(h.key), "event " + h.event];
  const waitWords = (w) => [L[w.track].name + " waits for the lock", sec(w.from) + " to " + sec(w.to) + " (" + dur(w.to - w.from) + ")",
    styles.results[w.result], keyName(w.key)];
  const markWords = (m) => {
    const value = "“" + (m.value || "") + "”", look = styles.marks[m.kind];
    const said = { what: Object.hasOwn(styles.verbs, m.f) ? styles.verbs[m.f] : m.f, value, of: m.value ? " of " + value : "", read: m.value ? value : "nothing", process: m.process };
    const head = look.words.replace(/\{(\w+)\}/g, (_, name) => said[name]);
    const h = holds[m.hold];
    return [L[m.track].name + " " + head, m.from < m.at ? "sent " + sec(m.from) + ", answered " + sec(m.at) : "at " + sec(m.at),
      h && h.grant ? "grant " + h.grant : "", m.token ? "token " + m.token : "", m.error, keyName(m.key),
      (look.source || "event") + " " + m.index];
  };
  const bandWords = (b) => [b.name + (b.tracks.length ? " of " + b.tracks.map((i) => L[i].name).join(", ") : ""),
    sec(b.from) + " to " + sec(b.to) + " (" + dur(b.to - b.from) + ")", b.detail,
    b.confirmed ? "took effect: observed" : "was not confirmed", b.healed ? "" : "no end was recorded"];

  // --- geometry --------------------------------------------------------------
  const X = (us) => gutter + (us - view[0]) / (view[1] - view[0]) * (width - gutter);
  const U = (x) => view[0] + (x - gutter) / (width - gutter) * (view[1] - view[0]);
  const clampX = (x) => Math.max(gutter - 2, Math.min(width + 2, x));
  const seen = (a, b) => b >= view[0] && a <= view[1];
  const hasKey = (k = 0) => key < 0 || k === key;

  function palette() {
    const css = getComputedStyle(document.documentElement);
    for (const n of ["card", "fg", "soft", "line", "grid", "bad", "hold", "lease", "harm", "harm-tint", "wait", "ok", "no", "halo", "bar-text", "stripe", "badge", "badge-text", "accent", ...Object.values(styles.faults).map((f) => f.tone), styles.fault.tone]) C[n] = css.getPropertyValue("--" + n).trim();
    C.patterns = {};
  }

  function layout() {
    tracks = L.map((_, i) => i);
    if ($("involved").checked) {
      const s = scenes[chosen], want = new Set(s ? s.tracks : D.focus.tracks), chain = s ? s.chain : D.focus.view;
      for (const b of bands) if (b.from <= chain[1] && b.to >= chain[0]) for (const l of b.tracks) want.add(l);
      tracks = tracks.filter((i) => want.has(i) || L[i].always);
    }
    rowOf = [];
    tracks.forEach((l, r) => { rowOf[l] = r; });
    width = canvas.parentElement.clientWidth;
    gutter = width < 560 ? 58 : 120;
    rowH = tracks.length <= 9 ? 46 : tracks.length <= 18 ? 32 : tracks.length <= 60 ? 22 : 12;
    height = top0 + tracks.length * rowH + 6;
    fit(canvas, width, height);
  }
  function fit(c, w, h) {
    const r = Math.min(devicePixelRatio || 1, 3);
    c.width = Math.max(1, Math.round(w * r));
    c.height = Math.max(1, Math.round(h * r));
    c.style.height = h + "px";
    c.getContext("2d").setTransform(r, 0, 0, r, 0, 0);
  }

  // --- drawing ---------------------------------------------------------------
  const faultStyle = (name) => (Object.hasOwn(styles.faults, name) ? styles.faults[name] : styles.fault);
  const tone = (name) => C[faultStyle(name).tone];
  function hatch(ctx, color, angle) { // one tile a colour and direction
    const id = color + angle;
    if (C.patterns[id]) return C.patterns[id];
    const t = document.createElement("canvas"), r = Math.min(devicePixelRatio || 1, 3);
    t.width = t.height = 8 * r;
    const g = t.getContext("2d");
    g.scale(r, r);
    g.strokeStyle = color;
    g.lineWidth = 2;
    g.beginPath();
    for (let i = -8; i <= 16; i += 4) {
      if (angle === "/") { g.moveTo(i, 8); g.lineTo(i + 8, 0); }
      if (angle === "|" && i >= 0) { g.moveTo(i, 0); g.lineTo(i, 8); }
      if (angle === "-" && i >= 0) { g.moveTo(0, i); g.lineTo(8, i); }
      if (angle === "\\") { g.moveTo(i, 0); g.lineTo(i + 8, 8); }
    }
    g.stroke();
    const p = ctx.createPattern(t, "repeat");
    p.setTransform(new DOMMatrix().scale(1 / r));
    return (C.patterns[id] = p);
  }

  function niceStep(v) {
    const base = 10 ** Math.floor(Math.log10(Math.max(v, 1)));
    for (const m of [1, 2, 5]) if (m * base >= v) return m * base;
    return 10 * base;
  }

  function draw() {
    const ctx = canvas.getContext("2d");
    hits = [];
    notes = [];
    ctx.fillStyle = C.card;
    ctx.fillRect(0, 0, width, height);
    ctx.textBaseline = "alphabetic";
    const s = chosen >= 0 ? scenes[chosen] : null;
    const y = (track) => top0 + rowOf[track] * rowH;
    const roomy = rowH >= 40, barH = roomy ? 15 : Math.max(8, rowH - 12), barY = (track) => y(track) + (roomy ? 15 : rowH > 16 ? 3 : 2), mid = (track) => barY(track) + barH / 2;

    tracks.forEach((l, r) => {
      if (r % 2) { ctx.fillStyle = C.stripe; ctx.fillRect(0, y(l), width, rowH); }
    });
    axis(ctx);
    ctx.save();
    ctx.beginPath();
    ctx.rect(gutter, 0, width - gutter, height);
    ctx.clip();

    for (const b of bands) {
      if (!seen(b.from, b.to)) continue;
      const x0 = clampX(X(b.from)), x1 = Math.max(clampX(X(b.to)), x0 + 1);
      const rows = (b.tracks.length ? b.tracks : tracks).filter((l) => rowOf[l] !== undefined);
      for (const l of rows) {
        ctx.fillStyle = ctx.strokeStyle = tone(b.name);
        if (b.confirmed) {
          ctx.globalAlpha = .16;
          ctx.fillRect(x0, y(l), x1 - x0, rowH);
          if (x1 - x0 > 6) {
            ctx.globalAlpha = .22;
            ctx.fillStyle = hatch(ctx, tone(b.name), faultStyle(b.name).hatch);
            ctx.fillRect(x0, y(l), x1 - x0, rowH);
          }
          ctx.globalAlpha = .9;
          ctx.fillStyle = tone(b.name);
          if (x1 - x0 > 4) ctx.fillRect(x0, y(l), 1.5, rowH);
          if (x1 - x0 > 4 && b.healed) ctx.fillRect(x1 - 1.5, y(l), 1.5, rowH);
        } else {
          ctx.globalAlpha = .8;
          ctx.setLineDash([3, 3]);
          ctx.strokeRect(x0 + .5, y(l) + 1.5, x1 - x0 - 1, rowH - 3);
          ctx.setLineDash([]);
        }
        ctx.globalAlpha = 1;
        hits.push([x0, y(l), x1, y(l) + rowH, 0, b, bandWords]);
      }
      if (rows.length === 2) { // a pair: what is cut is the way between them
        ctx.fillStyle = tone(b.name);
        ctx.globalAlpha = .5;
        ctx.fillRect(x0, Math.min(...rows.map(y)), 1.5, Math.abs(y(rows[0]) - y(rows[1])));
        ctx.globalAlpha = 1;
      }
      ctx.font = "600 10.5px system-ui, sans-serif";
      const label = b.name + (b.confirmed ? "" : " (was not confirmed)");
      if (roomy && x1 - x0 > ctx.measureText(label).width + 8) {
        ctx.fillStyle = tone(b.name);
        for (const l of rows) ctx.fillText(label, Math.max(x0, gutter) + 5, y(l) + rowH - 3.5);
      }
    }

    for (const w of waits) {
      if (rowOf[w.track] === undefined || !hasKey(w.key) || !seen(w.from, w.to)) continue;
      const x0 = clampX(X(w.from)), x1 = clampX(X(w.to));
      if (x1 - x0 < 1) continue;
      ctx.fillStyle = C.wait;
      ctx.fillRect(x0, mid(w.track) - .75, x1 - x0, 1.5);
      hits.push([x0, mid(w.track) - 4, x1, mid(w.track) + 4, 1, w, waitWords]);
    }

    // Holds narrower than a pixel add up to a column's shade: zoomed far out,
    // what is drawn is how much of the time somebody held the lock.
    const dense = new Map(), bad = new Set(s ? s.holds : []);
    const drawHold = (h, i) => {
      const end = Math.max(h.to, styles.ends[h.ended].outlived && h.lease !== undefined ? h.lease : h.to);
      if (rowOf[h.track] === undefined || !hasKey(h.key) || !seen(h.from, end)) return;
      const a = X(h.from), b = X(h.to), own = bad.has(i);
      if (b - a < 1.5 && !own) {
        const col = Math.floor(a);
        if (!dense.has(h.track)) dense.set(h.track, new Map());
        const m = dense.get(h.track);
        m.set(col, (m.get(col) || 0) + Math.max(b - a, .08));
        return;
      }
      const x0 = clampX(a), x1 = Math.max(clampX(b), x0 + 1.5), yy = barY(h.track);
      const live = h.lease !== undefined && h.lease < h.to ? Math.max(x0, clampX(X(Math.max(h.lease, h.from)))) : x1;
      ctx.globalAlpha = s && !own ? .62 : 1;
      const fill = own ? C.harm : C.hold;
      ctx.fillStyle = fill;
      ctx.fillRect(x0, yy, live - x0, barH);
      if (x1 > live) {
        ctx.fillStyle = C.card;
        ctx.fillRect(live, yy, x1 - live, barH);
        ctx.fillStyle = hatch(ctx, fill, "/");
        ctx.fillRect(live, yy, x1 - live, barH);
        ctx.strokeStyle = fill;
        ctx.lineWidth = 1;
        ctx.strokeRect(live + .5, yy + .5, Math.max(0, x1 - live - 1), barH - 1);
      }
      if (h.lease !== undefined) {
        const le = clampX(X(styles.ends[h.ended].ends_it ? Math.min(h.lease, h.to) : h.lease));
        ctx.fillStyle = own ? C.harm : C.lease;
        ctx.globalAlpha *= .75;
        if (le - x0 > 2) ctx.fillRect(x0, yy + barH + 2, le - x0, 2.5);
        if (h.lease <= h.to && seen(h.lease, h.lease)) ctx.fillRect(le - 1, yy + barH - 2, 2, 9);
      }
      ctx.globalAlpha = 1;
      ctx.font = "600 11px system-ui, sans-serif";
      const label = (h.grant || "") + (h.token ? " · token " + h.token : "");
      if (barH >= 13 && live - x0 > ctx.measureText(label).width + 10) {
        ctx.fillStyle = C["bar-text"];
        ctx.fillText(label, x0 + 5, yy + barH - 4);
      }
      hits.push([x0 - 1, yy - 1, x1 + 1, yy + barH + 6, own ? 3 : 2, h, holdWords]);
    };
    holds.forEach((h, i) => { if (!bad.has(i)) drawHold(h, i); });
    for (const [track, cols] of dense) {
      ctx.fillStyle = C.hold;
      for (const [x, full] of cols) {
        ctx.globalAlpha = .25 + .75 * Math.min(1, full);
        ctx.fillRect(x, barY(track), 1, barH);
      }
    }
    ctx.globalAlpha = 1;
    if (s) overlap(ctx, s, barY, barH);
    for (const i of bad) if (holds[i]) drawHold(holds[i], i);

    drawMarks(ctx, mid, barH, s);
    flags(ctx, s);
    for (const [text, x, yy, w] of notes) {
      ctx.fillStyle = C.card;
      ctx.fillRect(x - 5, yy - 13, w + 10, 18);
      ctx.fillStyle = C.bad;
      ctx.font = "600 11.5px system-ui, sans-serif";
      ctx.fillText(text, x, yy);
    }
    if (s) badges(ctx, s, y, roomy);
    ctx.restore();
    labels(ctx, s, y);
    canvas.dataset.drawn = String(hits.length);
    canvas.dataset.from = String(view[0]);
    canvas.dataset.to = String(view[1]);
    canvas.dataset.chosen = String(chosen);
    const tick = (view[1] - view[0]) / 100;
    $("range").textContent = sec(Math.max(span[0], view[0]), tick) + " to " + sec(Math.min(span[1], view[1]), tick);
    overview();
  }

  // The stretch in which two clients of the chosen anomaly both hold.
  function overlap(ctx, s, barY, barH) {
    const hs = s.holds.map((i) => holds[i]).filter((h) => h && rowOf[h.track] !== undefined);
    for (let i = 0; i < hs.length && i < 8; i++) for (let j = i + 1; j < hs.length && j < 8; j++) {
      const a = Math.max(hs[i].from, hs[j].from), b = Math.min(hs[i].to, hs[j].to);
      if (b <= a || hs[i].track === hs[j].track) continue;
      const y0 = Math.min(barY(hs[i].track), barY(hs[j].track)), y1 = Math.max(barY(hs[i].track), barY(hs[j].track)) + barH;
      const x0 = clampX(X(a)), x1 = Math.max(clampX(X(b)), x0 + 1);
      ctx.fillStyle = C["harm-tint"];
      ctx.fillRect(x0, y0, x1 - x0, y1 - y0);
      ctx.strokeStyle = C.harm;
      ctx.lineWidth = 1;
      ctx.strokeRect(x0 + .5, y0 + .5, x1 - x0 - 1, y1 - y0 - 1);
      ctx.font = "600 11.5px system-ui, sans-serif";
      const label = cut(ctx, "both believe they hold it: " + dur(b - a), width - gutter - 20), w = ctx.measureText(label).width;
      if (y1 - y0 < 44 || !seen(a, b) || x1 - x0 < 6) continue;
      // Between neighbouring tracks it would lie on a badge: beside the stretch then.
      const beside = x1 + 22 + w < width ? x1 + 22 : x0 - w - 22;
      const tx = Math.max(gutter + 4, Math.min(y1 - y0 < 80 ? beside : (x0 + x1 - w) / 2, width - w - 10)), ty = y0 + barH + (y1 - y0 - 2 * barH) / 2 + 4;
      notes.push([label, tx, ty, w]);
    }
  }

  function drawMarks(ctx, mid, barH, s) {
    const perTrack = [];
    let visible = 0;
    for (const m of marks) if (rowOf[m.track] !== undefined && hasKey(m.key) && seen(m.at, m.at)) { perTrack[m.track] = (perTrack[m.track] || 0) + 1; visible++; }
    const room = (width - gutter) / 9, last = {}, bad = new Set(s ? s.holds : []);
    const fine = (view[1] - view[0]) / (width - gutter) < 1500; // reads follow grants closely: shown once they are apart
    for (let pass = 0; pass < 2; pass++) for (const m of marks) {
      const look = styles.marks[m.kind], rare = !look.often;
      if (rowOf[m.track] === undefined || !hasKey(m.key) || !seen(m.at, m.at) || rare !== (pass === 1) || (look.fine && !fine)) continue;
      const x = X(m.at), y = mid(m.track), crowded = perTrack[m.track] > room;
      if (crowded) { // at most one a column and kind
        const id = m.track + " " + m.kind, col = Math.floor(x);
        if (last[id] === col || look.fine) continue;
        last[id] = col;
        if (!rare) {
          ctx.fillStyle = C.ok;
          ctx.fillRect(col, y + barH / 2 - 4, 1, 4);
          continue;
        }
      }
      // The write that did the harm: acknowledged at the anomaly's time by one of its holds.
      if (s && !look.fine && bad.has(m.hold) && m.from <= s.time && m.at >= s.time) {
        ctx.strokeStyle = C.harm;
        ctx.fillStyle = C.card;
        ctx.lineWidth = 2.5;
        ctx.beginPath(); ctx.arc(x, y, 8.5, 0, 7); ctx.fill(); ctx.stroke();
      }
      glyph(ctx, look.glyph, x, y, crowded ? 3 : 4.2);
      hits.push([x - 6, y - 8, x + 6, y + 8, 4 + pass, m, markWords]);
    }
    canvas.dataset.marks = String(visible);
  }

  function glyph(ctx, shape, x, y, r) {
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    if (shape === "tick") {
      ctx.strokeStyle = C.halo;
      ctx.moveTo(x, y - 3); ctx.lineTo(x, y + 3);
      ctx.stroke();
    } else if (shape === "dot") {
      ctx.arc(x, y, r, 0, 7);
      ctx.fillStyle = C.ok; ctx.strokeStyle = C.halo;
      ctx.fill(); ctx.stroke();
    } else if (shape === "cross" || shape === "pale cross") {
      for (const [w, c] of [[5, C.halo], [2.4, shape === "pale cross" ? C.soft : C.no]]) {
        ctx.lineWidth = w; ctx.strokeStyle = c;
        ctx.beginPath();
        ctx.moveTo(x - r, y - r); ctx.lineTo(x + r, y + r); ctx.moveTo(x + r, y - r); ctx.lineTo(x - r, y + r);
        ctx.stroke();
      }
    } else if (shape === "triangle") {
      ctx.moveTo(x - 5, y - 5); ctx.lineTo(x + 5, y - 5); ctx.lineTo(x, y + 4); ctx.closePath();
      ctx.fillStyle = C.soft; ctx.strokeStyle = C.halo;
      ctx.fill(); ctx.stroke();
    } else {
      ctx.moveTo(x, y - 5); ctx.lineTo(x + 5, y); ctx.lineTo(x, y + 5); ctx.lineTo(x - 5, y); ctx.closePath();
      ctx.fillStyle = C.card; ctx.strokeStyle = C.soft;
      ctx.fill(); ctx.stroke();
    }
  }

  function flags(ctx, s) {
    let lastX = -99;
    scenes.forEach((a, i) => {
      if (i === chosen || !seen(a.time, a.time)) return;
      const x = X(a.time);
      if (x - lastX < 3) return;
      lastX = x;
      ctx.fillStyle = C.bad;
      ctx.beginPath();
      ctx.moveTo(x - 5, top0 - 10); ctx.lineTo(x + 5, top0 - 10); ctx.lineTo(x, top0 - 1);
      ctx.fill();
      hits.push([x - 6, top0 - 12, x + 6, top0, 6, { anomaly: i }, () => [a.name + " at " + sec(a.time), "click to see it"]]);
    });
    if (!s || !seen(s.time, s.time)) return;
    const x = X(s.time);
    ctx.strokeStyle = C.harm;
    ctx.lineWidth = 1.5;
    ctx.setLineDash([5, 3]);
    ctx.beginPath(); ctx.moveTo(x, 16); ctx.lineTo(x, height); ctx.stroke();
    ctx.setLineDash([]);
    ctx.font = "650 12.5px system-ui, sans-serif";
    const text = cut(ctx, s.name + " at " + sec(s.time), width - gutter - 12), w = ctx.measureText(text).width + 12;
    const left = Math.max(gutter, Math.min(x, width - w));
    ctx.fillStyle = C.harm;
    ctx.fillRect(left, 0, w, 18);
    ctx.fillStyle = C["bar-text"];
    ctx.fillText(text, left + 6, 13.5);
  }

  function badges(ctx, s, y, roomy) {
    if (X(s.chain[1]) - X(s.chain[0]) < 24 && s.chain[1] > s.chain[0] && view[1] - view[0] > 4 * (s.view[1] - s.view[0])) return;
    const last = {};
    ctx.font = "600 10px system-ui, sans-serif";
    ctx.textAlign = "center";
    for (const { n, track, at } of s.evidence) {
      if (track < 0 || rowOf[track] === undefined || !seen(at, at)) continue;
      let x = X(at);
      if (last[track] !== undefined && x < last[track] + 15) x = last[track] + 15;
      last[track] = x;
      const cy = y(track) + (roomy ? 7 : 4);
      ctx.fillStyle = C.badge;
      ctx.strokeStyle = C.halo;
      ctx.lineWidth = 1;
      ctx.beginPath(); ctx.arc(x, cy, 7, 0, 7); ctx.fill(); ctx.stroke();
      ctx.fillStyle = C["badge-text"];
      ctx.fillText(n, x, cy + 3.5);
    }
    ctx.textAlign = "start";
  }

  function axis(ctx) {
    const want = Math.max(2, (width - gutter) / 90), step = niceStep((view[1] - view[0]) / want);
    const first = Math.ceil(view[0] / step);
    ctx.font = "11px system-ui, sans-serif";
    ctx.textAlign = "center";
    for (let i = 0; i < 60; i++) {
      const at = (first + i) * step;
      if (at > view[1]) break;
      const x = X(at);
      ctx.fillStyle = C.grid;
      ctx.fillRect(x, top0, 1, height - top0);
      ctx.fillStyle = C.soft;
      if (x > gutter + 14 && x < width - 18) ctx.fillText(sec(at, step), x, top0 - 7);
    }
    ctx.textAlign = "start";
  }

  function labels(ctx, s, y) {
    const involved = new Set(s ? s.tracks : []);
    tracks.forEach((l) => {
      ctx.fillStyle = involved.has(l) ? C.bad : C.fg;
      if (rowH < 16 && rowOf[l] % 2 && !involved.has(l)) return; // every second name has room
      ctx.font = (involved.has(l) ? "700" : "500") + (rowH < 16 ? " 11px" : " 13px") + " system-ui, sans-serif";
      ctx.fillText(cut(ctx, L[l].name, gutter - 12), 4, y(l) + Math.min(28, rowH < 16 ? rowH - 2 : rowH - 7));
      if (rowH >= 40 && L[l].name !== L[l].role) {
        ctx.font = "10.5px system-ui, sans-serif";
        ctx.fillStyle = C.soft;
        ctx.fillText(cut(ctx, L[l].role, gutter - 12), 4, y(l) + 41);
      }
      hits.push([0, y(l), gutter - 4, y(l) + rowH, 0, {}, () => [L[l].name, L[l].role, L[l].addr]]);
    });
  }

  function overview() {
    const c = $("overview"), h = 40;
    fit(c, width, h);
    const ctx = c.getContext("2d"), w = width - gutter, at = (us) => gutter + (us - span[0]) / (span[1] - span[0]) * w;
    ctx.fillStyle = C.stripe;
    ctx.fillRect(gutter, 6, w, h - 12);
    ctx.globalAlpha = .35;
    for (const b of bands) {
      ctx.fillStyle = tone(b.name);
      ctx.fillRect(at(b.from), 6, Math.max(1, at(b.to) - at(b.from)), h - 12);
    }
    ctx.globalAlpha = 1;
    ctx.fillStyle = C.hold;
    const cols = D.density, most = Math.max(1, ...cols), part = w / Math.max(1, cols.length);
    cols.forEach((n, i) => { if (n) { const t = 3 + 17 * n / most; ctx.fillRect(gutter + i * part, h - 7 - t, Math.max(1, part), t); } });
    ctx.fillStyle = C.harm;
    const thick = D.times.length > w / 6 ? 1 : 2;
    for (const t of D.times) ctx.fillRect(at(t) - thick / 2, 2, thick, thick < 2 ? 9 : h - 4);
    if (chosen >= 0) ctx.fillRect(at(scenes[chosen].time) - 1, 2, 2, h - 4);
    ctx.strokeStyle = C.fg;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(at(view[0]), 2, Math.max(3, at(view[1]) - at(view[0])), h - 4);
    ctx.fillStyle = C.soft;
    ctx.font = "11px system-ui, sans-serif";
    ctx.fillText("whole run", 4, 24);
  }

  // --- moving ----------------------------------------------------------------
  let queued = false;
  const redraw = () => {
    if (queued) return;
    queued = true;
    requestAnimationFrame(() => { queued = false; draw(); });
  };
  function look(a, b) {
    const all = span[1] - span[0], w = Math.max(Math.min(20, all), Math.min(all * 1.04, b - a));
    let from = a + (b - a - w) / 2;
    from = Math.max(span[0] - all * .02, Math.min(span[1] + all * .02 - w, from));
    view = [from, from + w];
    hideTip();
    redraw();
  }
  const zoom = (factor, at = (view[0] + view[1]) / 2) => look(at - (at - view[0]) * factor, at + (view[1] - at) * factor);
  const pan = (part) => { const d = (view[1] - view[0]) * part; look(view[0] + d, view[1] + d); };
  const whole = () => { stepAt = -1; look(span[0], span[1]); };

  function choose(i, quiet) {
    if (i < 0 || i >= scenes.length) return;
    chosen = i;
    stepAt = -1;
    for (const e of document.querySelectorAll(".anomaly")) {
      const own = Number(e.dataset.anomaly) === i + 1;
      e.classList.toggle("chosen", own && scenes.length > 1);
      if (own && !quiet) { e.open = true; const more = e.closest(".more"); if (more) more.open = true; }
    }
    layout();
    look(...scenes[i].view);
  }
  for (const e of document.querySelectorAll(".anomaly")) {
    const i = Number(e.dataset.anomaly) - 1;
    e.querySelector("summary").addEventListener("click", () => choose(i, true));
    e.querySelector(".show").addEventListener("click", () => { choose(i); $("when").scrollIntoView({ block: "start" }); canvas.focus({ preventScroll: true }); });
  }
  for (const id of ["prev", "first", "next"]) $(id).hidden = scenes.length < (id === "first" ? 1 : 2);
  for (const a of document.querySelectorAll("a[data-evidence]")) a.addEventListener("click", () => choose(Number(a.dataset.evidence) - 1));
  $("involved").parentElement.hidden = scenes.length === 0 && D.focus.tracks.length === 0;
  $("first").addEventListener("click", () => choose(0));
  $("prev").addEventListener("click", () => choose((chosen + scenes.length - 1) % scenes.length));
  $("next").addEventListener("click", () => choose((chosen + 1) % scenes.length));
  const focus = $("focus"), name = { refusal: "First refused write", contention: "First contention" }[D.focus.what];
  focus.hidden = !name || scenes.length > 0;
  focus.textContent = name || "";
  focus.addEventListener("click", () => look(...D.focus.view));
  $("whole").addEventListener("click", whole);
  $("in").addEventListener("click", () => zoom(1 / 1.6));
  $("out").addEventListener("click", () => zoom(1.6));
  $("involved").addEventListener("change", () => { layout(); redraw(); });
  if ($("key")) $("key").addEventListener("change", () => { key = Number($("key").value); redraw(); });

  // --- the pointer -------------------------------------------------------------
  const tip = $("tip");
  function hideTip() { tip.hidden = true; }
  function showTip(lines, x, y) {
    tip.replaceChildren();
    lines.filter(Boolean).forEach((t, i) => {
      const e = document.createElement(i ? "span" : "b");
      e.textContent = t;
      tip.append(e);
    });
    tip.hidden = false;
    const w = tip.offsetWidth, h = tip.offsetHeight;
    tip.style.left = Math.max(0, Math.min(width - w, x + 14)) + "px";
    tip.style.top = (y + 18 + h > height + 40 ? Math.max(0, y - h - 12) : y + 18) + "px";
  }
  function hit(x, y) {
    let best = null;
    for (const h of hits) if (x >= h[0] && x <= h[2] && y >= h[1] && y <= h[3] && (!best || h[4] >= best[4])) best = h;
    return best;
  }
  const place = (e, c) => { const r = c.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
  const pointers = new Map();
  let drag = null, active = false;
  canvas.addEventListener("pointerdown", (e) => {
    const [x, y] = place(e, canvas);
    pointers.set(e.pointerId, x);
    if (e.pointerType !== "touch") canvas.setPointerCapture(e.pointerId);
    drag = { x, y, view: view.slice(), select: e.shiftKey || (y < top0 && x > gutter), moved: false };
    if (pointers.size === 2) drag.pinch = [...pointers.values()];
    active = true;
  });
  canvas.addEventListener("pointermove", (e) => {
    const [x, y] = place(e, canvas);
    if (!drag) {
      const h = hit(x, y);
      if (h) showTip(h[6](h[5]), x, y); else hideTip();
      canvas.style.cursor = h && h[5].anomaly !== undefined ? "pointer" : y < top0 ? "col-resize" : "";
      return;
    }
    pointers.set(e.pointerId, x);
    const [a, b] = drag.view, w = width - gutter;
    if (drag.pinch && pointers.size === 2) {
      const [p, q] = [...pointers.values()], [p0, q0] = drag.pinch;
      const f = Math.max(20, Math.abs(q0 - p0)) / Math.max(20, Math.abs(q - p));
      const anchor = a + ((p0 + q0) / 2 - gutter) / w * (b - a), now = ((p + q) / 2 - gutter) / w;
      look(anchor - now * (b - a) * f, anchor + (1 - now) * (b - a) * f);
      return;
    }
    if (Math.abs(x - drag.x) < 3 && !drag.moved) return;
    drag.moved = true;
    if (drag.select) {
      draw();
      const ctx = canvas.getContext("2d");
      ctx.fillStyle = C.accent;
      ctx.globalAlpha = .2;
      ctx.fillRect(Math.min(x, drag.x), top0, Math.abs(x - drag.x), height);
      ctx.globalAlpha = 1;
      return;
    }
    canvas.classList.add("moving");
    const d = (drag.x - x) / w * (b - a);
    look(a + d, b + d);
  });
  const done = (e) => {
    pointers.delete(e.pointerId);
    canvas.classList.remove("moving");
    if (!drag) return;
    const [x, y] = place(e, canvas), d = drag;
    drag = null;
    if (e.type === "pointercancel") return redraw();
    if (d.select && d.moved) return look(Math.min(U(x), U(d.x)), Math.max(U(x), U(d.x)));
    const h = d.moved ? null : hit(x, y);
    if (h && h[5].anomaly !== undefined) choose(h[5].anomaly);
    else if (h) showTip(h[6](h[5]), x, y);
  };
  canvas.addEventListener("pointerup", done);
  canvas.addEventListener("pointercancel", done);
  canvas.addEventListener("pointerleave", () => { if (!drag) hideTip(); });
  canvas.addEventListener("blur", () => { active = false; });
  canvas.addEventListener("dblclick", (e) => zoom(.5, U(place(e, canvas)[0])));
  canvas.addEventListener("wheel", (e) => {
    // The page must stay scrollable over the picture until it is wanted.
    const side = Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey;
    if (!side && !e.ctrlKey && !e.metaKey && !active) return;
    e.preventDefault();
    if (side) pan((e.deltaX || e.deltaY) / 800);
    else zoom(Math.exp(Math.max(-200, Math.min(200, e.deltaY)) / 400), U(Math.max(gutter, place(e, canvas)[0])));
  }, { passive: false });

  // Steps through what is drawn, for those who do not point.
  function step(dir) {
    const list = hits.filter((h) => h[4] >= 2 && h[0] < width && h[2] > gutter).sort((a, b) => a[0] - b[0]);
    if (!list.length) return;
    stepAt = stepAt < 0 ? (dir > 0 ? 0 : list.length - 1) : (stepAt + dir + list.length) % list.length;
    const h = list[stepAt], x = Math.max(gutter, h[0]), y = (h[1] + h[3]) / 2;
    draw();
    const ctx = canvas.getContext("2d");
    ctx.strokeStyle = C.accent;
    ctx.lineWidth = 2.5;
    ctx.strokeRect(h[0] - 2, h[1] - 2, h[2] - h[0] + 4, h[3] - h[1] + 4);
    showTip(h[6](h[5]), x, y);
  }
  canvas.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const act = {
      ArrowLeft: () => pan(-.2), ArrowRight: () => pan(.2), ArrowUp: () => zoom(1 / 1.6), ArrowDown: () => zoom(1.6),
      "+": () => zoom(1 / 1.6), "=": () => zoom(1 / 1.6), "-": () => zoom(1.6), 0: whole, Home: whole,
      n: () => step(1), p: () => step(-1), Escape: hideTip,
    }[e.key];
    if (act) { e.preventDefault(); act(); }
  });
  let sweeping = false;
  const sweep = (e) => {
    const w = view[1] - view[0], at = span[0] + (place(e, $("overview"))[0] - gutter) / (width - gutter) * (span[1] - span[0]);
    look(at - w / 2, at + w / 2);
  };
  $("overview").addEventListener("pointerdown", (e) => { sweeping = true; $("overview").setPointerCapture(e.pointerId); sweep(e); });
  $("overview").addEventListener("pointermove", (e) => { if (sweeping) sweep(e); });
  for (const t of ["pointerup", "pointercancel"]) $("overview").addEventListener(t, () => { sweeping = false; });

  palette();
  for (const q of ["(prefers-color-scheme: dark)", "(resolution: " + devicePixelRatio + "dppx)"]) {
    matchMedia(q).addEventListener("change", () => { palette(); layout(); redraw(); });
  }
  new ResizeObserver(() => { if (canvas.parentElement.clientWidth !== width) { layout(); draw(); } }).observe(canvas.parentElement);
  $("involved").checked = L.length > 14 && (scenes.length > 0 || D.focus.tracks.length > 0);
  layout();
  if (scenes.length) choose(0, true);
  else look(...D.focus.view);
})();
