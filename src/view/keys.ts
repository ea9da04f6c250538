/** The keys of the graph. */

export interface Keys {
  walk(key: string): void;
  pan(dx: number, dy: number): void;
  details(): void;
  toggle(): void;
  problem(step: 1 | -1): void;
  search(): void;
  fit(): void;
  zoom(factor: number): void;
  back(): void;
}

const PAN: Record<string, readonly [number, number]> = { ArrowDown: [0, -60], ArrowUp: [0, 60], ArrowLeft: [60, 0], ArrowRight: [-60, 0] };

export function onKey(event: KeyboardEvent, act: Keys): void {
  if (event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const pan = PAN[event.key];
  if (pan) {
    if (event.shiftKey) {
      act.pan(...pan);
    } else {
      act.walk(event.key);
    }
  } else {
    const deeds: Record<string, () => void> = {
      Enter: () => act.details(),
      " ": () => act.toggle(),
      n: () => act.problem(1),
      p: () => act.problem(-1),
      "/": () => act.search(),
      f: () => act.fit(),
      "+": () => act.zoom(1.25),
      "=": () => act.zoom(1.25),
      "-": () => act.zoom(0.8),
      Escape: () => act.back(),
    };
    const deed = deeds[event.key];
    if (!deed) {
      return;
    }
    deed();
  }
  event.preventDefault();
  event.stopPropagation();
}
