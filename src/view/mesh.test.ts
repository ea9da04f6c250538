import { afterEach, expect, test } from "vitest";

import { detailsPane, type DetailActions } from "./details";
import { FlowDoc } from "./doc";
import { drawBox } from "./draw";
import { buildTree } from "./groups";
import type { Box } from "./layout/scene";
import { mount, type Mounted } from "./index";
import { edge, node, report } from "./testing/flows";
import type { WireReport } from "./wire";

let view: Mounted | undefined;

afterEach(() => {
  view?.();
  view = undefined;
  document.body.replaceChildren();
});

function sharded(): WireReport {
  const mesh = [
    { name: "batch", size: 2 },
    { name: "model", size: 4 },
  ];
  const target = { name: "v5e-8", replicas: 8, hosts: 1, generation: "v5e", hbm_bytes: 0, strategy: "ModelParallel", mesh };
  const collectives = [
    { kind: "all-reduce", node: "down", name: "down", count: 2, bytes: 4096, sent: 6144, group: 4 },
    { kind: "all-gather", node: "up", name: "up", count: 1, bytes: 10, sent: 10, group: 8 },
  ];
  const wire = report([node("up"), node("down")], [edge("up", "down", { placement: 0 })], {
    target,
    verdicts: [{ program: "train", compiler: "tpu", ok: true, collectives }],
  });
  wire.flow.placements = [{ shapes: [[4, 28, 28, 1]], layout: ["batch", "", "", ""] }];
  return wire;
}

function boxOf(id: string): Box {
  const item = buildTree(new FlowDoc(sharded())).items.get(id)!;
  return { item, x: 0, y: 0, w: 240, h: 50, open: false, depth: 1, pills: [] };
}

test("an edge of a mesh is labelled with the mesh's axes", () => {
  const el = document.createElement("div");
  document.body.append(el);
  view = mount(el, sharded());
  const labels = [...el.firstElementChild!.shadowRoot!.querySelectorAll(".label.tensor text")].map((one) => one.textContent);
  expect(labels).toEqual(["f32 (batch/2, 28, 28, 1)"]);
  // A box is called by its name, and not by what its strip says.
  expect(el.firstElementChild!.shadowRoot!.querySelector('[data-id="up"]')!.getAttribute("aria-label")).toBe("up · Dense");
});

test("a node has a strip for each axis of the mesh: parts along one, copies along the other", () => {
  const strip = drawBox(new FlowDoc(sharded()), boxOf("up"), true).querySelector(".strip")!;
  expect([...strip.querySelectorAll("rect")].map((one) => one.classList.contains("copied"))).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
  expect(strip.textContent).toBe("batch: 2 parts, model: 4 copies");
});

test("where replicas hold different shapes the strip is of these, and without a layout it is of the devices", () => {
  const uneven = sharded();
  uneven.flow.placements![0]!.shapes = [...Array<number[]>(7).fill([4, 28, 28, 1]), [2, 28, 28, 1]];
  expect(drawBox(new FlowDoc(uneven), boxOf("up"), true).querySelectorAll(".strip .odd")).toHaveLength(1);
  const unknown = sharded();
  delete unknown.flow.placements![0]!.layout;
  expect(drawBox(new FlowDoc(unknown), boxOf("up"), true).querySelectorAll(".strip rect")).toHaveLength(8);
});

test("a node tells the collectives that it causes, with what each device sends in a step", () => {
  const doc = new FlowDoc(sharded());
  const pane = detailsPane(doc, buildTree(doc).items.get("down")!, { isOpen: () => false } as unknown as DetailActions);
  const cells = [...pane.querySelectorAll("td")].map((one) => one.textContent);
  expect(cells.slice(-4)).toEqual(["train", "2 × all-reduce", "4", "6.0 KiB"]);
  // What each device holds of what it gives is in the table of devices.
  expect(cells.filter((cell) => cell === "(4, 28, 28, 1)")).toHaveLength(8);
});
