import { expect, test, vi } from "vitest";

import { FlowDoc } from "./doc";
import { drawBox } from "./draw";
import { buildTree } from "./groups";
import { layerTable } from "./layertable";
import { mount } from "./index";
import { measuresOf, valueOf } from "./measures";
import { Heat, legendOf } from "./overlay";
import { edge, node, report } from "./testing/flows";
import type { WireReport } from "./wire";

function made(more: Partial<WireReport> = {}): FlowDoc {
  const wire = report(
    [
      node("model", "Sequential"),
      node("conv", "Conv2D", { parent: "model", weights: [0], params: 288 }),
      node("head|x", "Dense", { parent: "model", params: 72 }),
      node("loss", "Loss", { kind: "loss" }),
    ],
    [edge("conv", "head|x", { spec: 1, placement: 0 }), edge("head|x", "loss", { spec: 2 })],
    more,
  );
  wire.flow.specs.push({ shape: [16, 26, 26, 32], dtype: "bfloat16" }, { shape: [null, 10], dtype: "float32" });
  wire.flow.families = { Conv2D: "convolution", Dense: "dense" };
  return new FlowDoc(wire);
}

const measure = (doc: FlowDoc, id: string): (number | undefined)[] => [...measuresOf(doc).find((one) => one.id === id)!.of];

test("measures are of one replica, and what is not known is not made up", () => {
  const doc = made();
  expect(measure(doc, "parameters")).toEqual([undefined, 288, 72, 0]);
  // Eight rows of the sixteen, two bytes each; the size of the second tensor is unknown.
  expect(measure(doc, "output")).toEqual([undefined, 8 * 26 * 26 * 32 * 2, undefined, undefined]);
  expect(measure(doc, "flops")).toEqual([undefined, 2 * 3 * 3 * 32 * 8 * 26 * 26, undefined, undefined]);
  expect(measure(doc, "copies")).toEqual([undefined, 288 * 4 * 8, undefined, undefined]);
  expect(measuresOf(doc).map((one) => one.id)).not.toContain("compiled");
});

test("on a mesh the bytes that one device holds of a layer's weights are a measure", () => {
  const mesh = [
    { name: "batch", size: 2 },
    { name: "model", size: 4 },
  ];
  const target = { name: "v5e-8", replicas: 8, hosts: 1, generation: "v5e", hbm_bytes: 0, strategy: "ModelParallel", mesh };
  const doc = made({ target });
  doc.report.flow.weights![0]!.shard = [3, 3, 8];
  expect(measure(doc, "shard")).toEqual([undefined, 3 * 3 * 8 * 4, undefined, undefined]);
  expect(measuresOf(made()).map((one) => one.id)).not.toContain("shard");
});

test("a group shows the sum of what is in it", () => {
  const doc = made();
  const parameters = measuresOf(doc).find((one) => one.id === "parameters")!;
  expect(valueOf(parameters, buildTree(doc).items.get("model")!)).toBe(360);
});

test("what the compilers said and the user's own numbers are measures too", () => {
  const doc = made({
    verdicts: [
      {
        program: "train",
        compiler: "tpu",
        ok: true,
        layers: [{ node: "conv", name: "conv", bytes: 4096, logical: 1024 }],
        collectives: [{ kind: "all-reduce", node: "conv", name: "conv", count: 1, bytes: 100, sent: 175, group: 8 }],
      },
    ],
    overlays: [{ name: "measured", values: { conv: 2.5 }, unit: "ms" }],
  });
  expect(measure(doc, "compiled")[1]).toBe(4096);
  expect(measure(doc, "padding")[1]).toBe(3072);
  expect(measure(doc, "traffic")[1]).toBe(175);
  const own = measuresOf(doc)[0]!;
  expect([own.name, own.say(own.of[1]!)]).toEqual(["measured", "2.5 ms"]);
});

test("a chosen measure is seen on the boxes as step, bar and number", () => {
  const doc = made();
  const tree = buildTree(doc);
  const [conv, head] = ["conv", "head|x"].map((id) => tree.items.get(id)!);
  doc.heat = Heat.over(
    measuresOf(doc).find((one) => one.id === "parameters")!,
    [conv!, head!],
  );
  const draw = (item: typeof conv): SVGGElement =>
    drawBox(doc, { item: item!, x: 0, y: 0, w: 200, h: 50, open: false, depth: 1, pills: [] }, true);
  expect(draw(conv).classList).toContain("heat-4");
  expect(draw(head).classList).toContain("heat-2");
  expect(draw(conv).querySelector(".place")?.textContent).toBe("288");
  expect(draw(head).querySelector(".heat-bar")?.getAttribute("width")).toBe("46");
});

test("the legend turns to a measure with its largest nodes, and back", () => {
  const doc = made();
  const chosen: (string | undefined)[] = [];
  const gone: number[] = [];
  const legend = legendOf(doc, {
    choose: (one) => chosen.push(one?.id),
    goTo: (i) => gone.push(i),
    mark: () => undefined,
  })!;
  document.body.append(legend);
  const select = legend.querySelector("select")!;
  select.value = "parameters";
  select.dispatchEvent(new Event("change"));
  const rows = [...legend.querySelectorAll("ol button")] as HTMLButtonElement[];
  expect(rows.map((row) => row.textContent)).toEqual(["conv288", "head|x72"]);
  rows[1]!.click();
  select.value = "";
  select.dispatchEvent(new Event("change"));
  expect(chosen).toEqual(["parameters", undefined]);
  expect(gone).toEqual([2]);
  expect(legend.querySelector("ul")?.textContent).toContain("convolution");
});

test("the table is sorted by a click, and copied whole as Markdown", async () => {
  const copied: string[] = [];
  vi.spyOn(navigator.clipboard, "writeText").mockImplementation((text) => Promise.resolve(void copied.push(text)));
  const said: string[] = [];
  const pane = layerTable(made(), { goTo: () => undefined, say: (words) => said.push(words) });
  const names = (): (string | null)[] => [...pane.querySelectorAll("tbody tr")].map((row) => row.firstElementChild!.textContent);
  expect(names()).toEqual(["model", "conv", "head|x", "loss"]);
  const sort = [...pane.querySelectorAll("th button")].find((one) => one.textContent === "parameters") as HTMLButtonElement;
  sort.click();
  expect(names().slice(0, 2)).toEqual(["conv", "head|x"]);
  expect(sort.parentElement!.getAttribute("aria-sort")).toBe("descending");
  pane.querySelector<HTMLButtonElement>(".row button")!.click();
  await Promise.resolve();
  expect(copied[0]!.split("\n")).toHaveLength(6);
  expect(copied[0]).toContain("| head\\|x | Dense |");
});

test("a view opens on the numbers that were added last, with their scale", () => {
  const overlays = [
    { name: "first", values: { conv: 1 } },
    { name: "last", values: { conv: 4 }, unit: "ms" },
  ];
  const el = document.createElement("div");
  document.body.append(el);
  const view = mount(el, { ...made().report, overlays });
  const { shadowRoot } = el.firstElementChild!;
  expect(shadowRoot!.querySelector<HTMLSelectElement>(".legend select")!.selectedOptions[0]!.textContent).toBe("last");
  expect(shadowRoot!.querySelector('[data-id="conv"] .place')?.textContent).toBe("4 ms");
  expect(shadowRoot!.querySelector(".most")?.textContent).toBe("4 ms");
  view();
  el.remove();
});
