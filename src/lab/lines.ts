const SAID = 160;

/**
 * Where in a text stands what a kernel calls a line, counted from 1.
 *
 * IPython drops the blank lines that a cell begins with, and the body of a cell magic is a cell of its own, except for
 * `%%tpushape` and `%%time`. Where the line's own words are known they decide: the nearest line that says the same.
 */
export function lineIn(source: string, line: number, words = ""): number {
  const lines = source.split("\n");
  const leading = Math.max(
    0,
    lines.findIndex((one) => one.trim()),
  );
  const said = words.trim();
  let expected = line + leading;
  if (/^\s*%%(?!tpushape|time\b)/.test(lines[leading] ?? "")) {
    const body = lines.slice(leading + 1).findIndex((one) => one.trim());
    expected += 1 + Math.max(0, body);
  }
  const last = Math.max(1, lines.length);
  if (said) {
    const same = lines.flatMap((one, i) => (one.trim().slice(0, SAID) === said ? [i + 1] : []));
    const nearest = same.sort((a, b) => Math.abs(a - expected) - Math.abs(b - expected))[0];
    if (nearest) {
      return nearest;
    }
  }
  return Math.min(expected, last);
}
