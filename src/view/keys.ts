/** The keys of the graph. */

import { step } from "./gestures";
import type { Item, Tree } from "./groups";
import type { Viewport } from "./viewport";

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
  help(): void;
  lie(): void;
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
      "?": () => act.help(),
      h: () => act.lie(),
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

export interface KeyHost {
  select(item: Item | null): void;
  toggle(item: Item | null): void;
  details(): void;
  problem(step: 1 | -1): void;
  search(): void;
  closeMenu(): boolean;
  help(): void;
  lie(): void;
}

/** What the keys do to a picture. */
export function graphKeys(viewport: Viewport, tree: Tree, host: KeyHost): Keys {
  return {
    walk: (key) => {
      const { selected, scene } = viewport;
      const next = selected && scene ? step(scene, selected, key) : tree.root.members[0];
      if (next) {
        host.select(next);
      }
    },
    pan: (dx, dy) => viewport.pan(dx, dy),
    details: () => {
      if (viewport.selected) {
        host.details();
      }
    },
    toggle: () => host.toggle(viewport.selected),
    problem: (by) => host.problem(by),
    search: () => host.search(),
    fit: () => viewport.fit(),
    zoom: (factor) => viewport.zoom(factor),
    help: () => host.help(),
    lie: () => host.lie(),
    back: () => {
      if (!host.closeMenu()) {
        host.select(null);
      }
    },
  };
}
