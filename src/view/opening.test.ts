import { expect, test } from "vitest";

import { FlowDoc } from "./doc";
import { buildTree } from "./groups";
import { openingOf } from "./opening";
import { edge, node, report } from "./testing/flows";
import type { WireReport } from "./wire";

/** Two towers of six layers each, side by side. */
function towers(status?: "failed"): WireReport {
  const layers = ["left", "right"].flatMap((tower) => [
    node(tower, "Sequential"),
    ...[1, 2, 3, 4, 5, 6].map((i) =>
      node(`${tower}/${i}`, tower === "left" ? "Dense" : "Conv1D", { parent: tower, ...(tower === "left" && i === 3 ? { status } : {}) }),
    ),
  ]);
  const lines = ["left", "right"].flatMap((tower) => [1, 2, 3, 4, 5].map((i) => edge(`${tower}/${i}`, `${tower}/${i + 1}`)));
  const findings = status ? [{ rule: "rank", severity: "error" as const, message: "", nodes: ["left/3"], fixes: [] }] : [];
  return report([node("in", "Input", { kind: "input" }), ...layers, node("add", "Add")], lines, { findings });
}

test("where there is room parts stand open, and where there is little only the way to the first problem", () => {
  const opened = (made: WireReport, most: number): string[] => {
    const doc = new FlowDoc(made);
    return [...openingOf(doc, buildTree(doc), most)].sort();
  };
  expect(opened(towers(), 30)).toEqual(["left", "right"]);
  expect(opened(towers(), 14)).toEqual(["left"]);
  expect(opened(towers(), 8)).toEqual([]);
  expect(opened(towers("failed"), 8)).toEqual(["left"]);
});
