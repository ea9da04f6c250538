/** From where to where line `i` of a patch differs from the line that it replaces or that replaces it; nothing where most of it does. */
export function differing(lines: readonly string[], i: number): [number, number] {
  const sign = (at: number) => (lines[at] ?? "").slice(0, 1);
  let [first, next] = [i, i];
  while (sign(first - 1) === sign(i)) {
    first--;
  }
  while (sign(next) === sign(i)) {
    next++;
  }
  const at = sign(i) === "-" ? i + next - first : i - next + first;
  const [line = "", other = ""] = [lines[i], lines[at]];
  let [from, to, end] = [1, line.length, other.length];
  while (from < to && line[from] === other[from]) {
    from++;
  }
  while (to > from && end > from && line[to - 1] === other[end - 1]) {
    to--;
    end--;
  }
  return ["+-", "-+"].includes(sign(i) + sign(at)) && 2 * (to - from) < line.length ? [from, to] : [0, 0];
}
