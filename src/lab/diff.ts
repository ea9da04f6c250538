/** One hunk of a unified diff: where it counts from, the lines it expects, and its lines as they stand in the diff. */
interface Hunk {
  start: number;
  before: string[];
  lines: string[];
}

/** A patch put into a text, or the reason why it does not fit. */
export type Patched =
  { ok: true; text: string; line: number; shown: string } | { ok: false; reason: "not-a-diff" | "changed" | "ambiguous" };

/** Whether a fix's patch is a unified diff, not a snippet to be put in by hand. */
export function isDiff(patch: string): boolean {
  return /^@@ -\d+/m.test(patch);
}

function parse(patch: string): Hunk[] {
  const hunks: Hunk[] = [];
  for (const line of patch.split("\n")) {
    const head = /^@@ -(\d+)/.exec(line);
    if (head) {
      hunks.push({ start: Number(head[1]), before: [], lines: [] });
      continue;
    }
    const hunk = hunks.at(-1);
    if (!hunk || line.startsWith("\\")) {
      continue;
    }
    if (/^[-+ ]/.test(line)) {
      hunk.lines.push(line);
    }
    if (/^[- ]/.test(line)) {
      hunk.before.push(line.slice(1));
    }
  }
  return hunks;
}

function places(lines: string[], wanted: string[]): number[] {
  const found: number[] = [];
  for (let at = 0; at + wanted.length <= lines.length; at++) {
    if (wanted.every((line, i) => lines[at + i]?.trimEnd() === line.trimEnd())) {
      found.push(at);
    }
  }
  return found;
}

/** A hunk's lines in the place of those from `at` on: what it keeps stays as it stands, with its own blanks and line end. */
function patched(lines: string[], at: number, hunk: Hunk): string[] {
  const end = lines[at]?.endsWith("\r") ? "\r" : "";
  let next = at;
  return hunk.lines.flatMap((line) => {
    if (line.startsWith("+")) {
      return [line.slice(1) + end];
    }
    next += 1;
    return line.startsWith("-") ? [] : [lines[next - 1] ?? ""];
  });
}

/**
 * Puts a unified diff into a text as it is now; what the diff expects has to stand there word for word.
 *
 * `offset`: how many lines stand above what the diff counts as the first. `shown` is the diff against the text as it is.
 */
export function applyDiff(text: string, patch: string, offset = 0): Patched {
  const hunks = parse(patch);
  if (!hunks.length) {
    return { ok: false, reason: "not-a-diff" };
  }
  const lines = text.split("\n");
  const shown: string[] = [];
  let shift = offset;
  let line = -1;
  for (const hunk of hunks) {
    const found = places(lines, hunk.before);
    const expected = hunk.start - 1 + shift;
    const at = found.includes(expected) ? expected : found.length === 1 ? found[0] : undefined;
    if (at === undefined || !hunk.before.length) {
      return { ok: false, reason: found.length > 1 ? "ambiguous" : "changed" };
    }
    shown.push(`@@ -${hunk.start} +${at + 1} @@`, ...hunk.lines);
    const after = patched(lines, at, hunk);
    lines.splice(at, hunk.before.length, ...after);
    shift += after.length - hunk.before.length;
    if (line < 0) {
      line = at;
    }
  }
  return { ok: true, text: lines.join("\n"), line, shown: shown.join("\n") };
}
