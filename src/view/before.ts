import type { Item } from "./groups";
import type { Tab } from "./sidebar";
import type { Viewport } from "./viewport";

/** What stays when another report comes in. */
export interface Before {
  open: Set<string>;
  selected: string | undefined;
  view: Viewport["view"];
  known: Map<string, Item>;
  tab: Tab;
  held: boolean;
  current: number;
}
