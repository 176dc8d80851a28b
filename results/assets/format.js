"use strict";
// Writes times by the rule of internal/format, which the page hands over: what the page
// says and what this draws cannot differ. formatter takes the rule; times are µs.
const formatter = (rule) => {
  // As Go writes it: of two decimals that are equally near, the even one.
  const fixed = (v, places) => {
    const s = v.toFixed(places);
    if ((v * 2 ** (places + 1)) % 2 !== 1) return s;
    const below = Math.floor(v * 10 ** places);
    return below % 2 ? s : (below / 10 ** places).toFixed(places);
  };
  const digits = (v) => {
    const s = fixed(v, v < 10 ? 2 : v < 100 ? 1 : rule.large);
    return s.includes(".") ? s.replace(/\.?0+$/, "") : s;
  };
  return {
    instant: (us, places = 3) => (us < 0 ? "-" : "") + fixed(Math.abs(us) / 1e6, places) + " s",
    length: (us) => {
      const ns = Math.abs(us) * 1e3, unit = rule.units.find((u) => ns < u.below) ?? rule.units.at(-1), v = ns / unit.size;
      return (us < 0 ? rule.minus : "") + (unit.places < 0 ? digits(v) : fixed(v, unit.places)) + " " + unit.name;
    },
  };
};
