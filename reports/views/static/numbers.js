// Numbers of results files: NaN, infinities and integers above 2^53 are strings.
window.Report.withData(() => {
  "use strict";
  const SPECIAL = { nan: NaN, inf: Infinity, "-inf": -Infinity };
  const FEWEST_DIGITS = 5;
  const MOST_DIGITS = 17;
  const SMALLEST_PLAIN = 1e-4; // smaller numbers are written with an exponent

  const isBig = (value) => typeof value === "string" && !(value in SPECIAL);
  const toNumber = (value) => (typeof value === "string" && value in SPECIAL ? SPECIAL[value] : Number(value));

  function exponential(value, digits) {
    return value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
  }

  // The shortest text of a number with the given number of significant digits.
  function format(value, digits = FEWEST_DIGITS) {
    if (value === null || value === undefined) return "";
    if (typeof value === "string" || typeof value === "boolean") return String(value);
    if (!Number.isFinite(value)) return String(value);
    if (Number.isInteger(value) && Math.abs(value) < 1e6) return Object.is(value, -0) ? "-0" : String(value);
    const rounded = Number(value.toPrecision(digits));
    const tiny = rounded !== 0 && Math.abs(rounded) < SMALLEST_PLAIN;
    return tiny || Math.abs(rounded) >= 10 ** digits ? exponential(value, digits) : String(rounded);
  }

  // The difference got − expected. special: one of them is NaN or infinite, and they are not equal.
  function difference(got, expected) {
    if (got === expected) return { size: 0, text: "0" };
    if (isBig(got) || isBig(expected)) return bigDifference(got, expected);
    const [one, other] = [toNumber(got), toNumber(expected)];
    if (Object.is(one, other)) return { size: 0, text: "0" };
    const delta = one - other;
    if (!Number.isFinite(one) || !Number.isFinite(other)) return { size: Infinity, text: "special", special: true };
    return { size: Math.abs(delta), text: (delta > 0 ? "+" : "") + format(delta) };
  }

  function bigDifference(got, expected) {
    try {
      const delta = BigInt(got) - BigInt(expected);
      return { size: Math.abs(Number(delta)), text: (delta > 0n ? "+" : "") + delta };
    } catch {
      return { size: Infinity, text: "special", special: true };
    }
  }

  // The smallest number of digits with which the numbers of all pairs are distinguishable.
  function digitsFor(pairs) {
    const differing = pairs.filter(([one, other]) => typeof one === "number" && typeof other === "number" && one !== other);
    for (let digits = FEWEST_DIGITS; digits < MOST_DIGITS; digits += 1)
      if (differing.every(([one, other]) => format(one, digits) !== format(other, digits))) return digits;
    return MOST_DIGITS;
  }

  Object.assign(window.Report, { toNumber, format, difference, digitsFor });
});
