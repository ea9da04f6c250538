import { afterEach, describe, expect, test, vi } from "vitest";

import { mount, type Callbacks, type Mounted } from "./index";
import { closely, insertable } from "./problems";
import { search, shapeMatches } from "./search";
import { FlowDoc } from "./doc";
import { broken, chain } from "./testing/flows";
import type { WireReport } from "./wire";

let view: Mounted | undefined;

function show(report: WireReport, callbacks: Callbacks = {}): ShadowRoot {
  const el = document.createElement("div");
  document.body.append(el);
  view = mount(el, report, callbacks);
  return el.firstElementChild!.shadowRoot!;
}

function press(root: ShadowRoot, key: string): void {
  root.querySelector("svg.graph")!.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true }));
}

function text(root: ShadowRoot, selector: string): string[] {
  return [...root.querySelectorAll(selector)].map((one) => one.textContent);
}

afterEach(() => {
  view?.();
  view = undefined;
  document.body.replaceChildren();
});

describe("a broken flow", () => {
  test("says its verdict, its target and its problem in words", () => {
    const root = show(broken());
    expect(text(root, ".verdict")).toEqual(["✖1 problem · fails"]);
    expect(text(root, ".chip")).toEqual(["keras 3", "8 replicas", "7 nodes", "320 parameters"]);
    expect(text(root, "h2.title")[0]).toBe("lstm cannot take what conv2d gives");
    expect(text(root, ".sides").join()).toBe("wants(batch, time, features)gets(8, 26, 26, 32)");
    expect(text(root, ".sides b")).toEqual(["time", "features", "26", "32"]);
    expect(text(root, ".rejected li")).toEqual(["Flatten gives rank 2"]);
  });

  test("shows each fix with its diff, its effect and whether it was tried", () => {
    const root = show(broken());
    expect(text(root, ".card h4")).toEqual(["Read the rows as time steps", "Say nothing of time"]);
    expect(text(root, ".tried")).toEqual([expect.stringContaining("✓")]);
    expect(text(root, ".untried")).toEqual(["fails: rank 2"]);
    expect(text(root, ".diff .add")).toEqual(["+Reshape((26, 832)),", "+Flatten(),"]);
    expect(text(root, ".card.verified p")).toEqual([expect.stringContaining(" · (8, 26, 26, 32) → (8, 26, 832) · +229,632 parameters")]);
  });

  test("offers Apply only where somebody can, and tells which fix", () => {
    expect(text(show(broken()), ".card button")).toEqual(["Copy", "Copy"]);
    view?.();
    const apply = vi.fn();
    const root = show(broken(), { apply });
    root.querySelectorAll<HTMLButtonElement>(".card button.primary")[1]!.click();
    expect(apply).toHaveBeenCalledWith(0, 1);
  });

  test("goes to a line where the host can", () => {
    const locate = vi.fn();
    const root = show(broken(), { locate });
    [...root.querySelectorAll("button")].find((one) => one.textContent === "In[4]:4")!.click();
    expect(locate).toHaveBeenCalledWith({ file: "<cell>", line: 4, execution: 4 });
  });

  test("draws the broken edge with what it wanted and got, and hatches what was not reached", () => {
    const root = show(broken());
    expect(text(root, ".label.wrong text")).toEqual(["wants\u00a0(batch, time, features)", "gets\u00a0\u00a0(8, 26, 26, 32)"]);
    expect(text(root, ".label.wrong .differs")).toEqual(["time", "features", "26", "32"]);
    expect(text(root, ".line.failed .badge")).toEqual(["✖"]);
    expect(root.querySelectorAll(".node.not-reached .hatch")).toHaveLength(1);
    expect(text(root, ".strip title")).toContain("batch: 8 parts, 8 replicas, each (8, 26, 26, 32)");
  });

  test.each([
    ["silent", "≠"],
    ["slow", "◔"],
    ["note", "i"],
  ] as const)("marks a %s edge with a sign of its own", (severity, sign) => {
    const report = broken(severity);
    for (const edge of report.flow.edges) {
      delete edge.status;
    }
    const root = show(report);
    expect(text(root, `.line.${severity} .badge`)).toEqual([sign]);
    expect(root.querySelectorAll(".line.silent .core")).toHaveLength(severity === "silent" ? 1 : 0);
  });
});

describe("the keyboard", () => {
  test("walks along the flow, tells what stands there, and opens the details", async () => {
    const select = vi.fn();
    const root = show(broken(), { select });
    press(root, "n");
    await vi.waitFor(() => expect(select).toHaveBeenLastCalledWith("lstm"));
    press(root, "ArrowUp");
    expect(select).toHaveBeenLastCalledWith("conv2d");
    expect(text(root, ".spoken")[0]).toMatch(/conv2d, Conv2D · 32 · 3×3, \w+ f32 \(8, 28, 28, 1\)/);
    press(root, "Enter");
    const details = root.querySelector('[role="tabpanel"]:not([hidden])')!;
    expect(details.textContent).toContain("kernel_size");
    expect(details.textContent).toContain("(3, 3, 1, 32)");
    expect(details.textContent).toContain("Replicas · 8");
    press(root, "Escape");
    expect(select).toHaveBeenLastCalledWith(null);
  });

  test("closes and opens a part, in the graph and in the outline", () => {
    const root = show(broken());
    view!.select("model");
    press(root, " ");
    expect(text(root, ".spoken")).toEqual([expect.stringMatching(/^model /)]);
    expect(text(root, '.node[data-id="conv2d"] .name')).toEqual([]);
    expect(root.querySelector('[role="treeitem"][aria-selected="true"]')!.getAttribute("aria-expanded")).toBe("false");
    press(root, " ");
    expect(text(root, '.node[data-id="conv2d"] .name')).toEqual(["conv2d"]);
  });

  test("does not reach the notebook around it", () => {
    const root = show(broken());
    const heard = vi.fn();
    document.addEventListener("keydown", heard);
    press(root, "n");
    press(root, "d");
    document.removeEventListener("keydown", heard);
    expect(heard).not.toHaveBeenCalled();
  });
});

test("the outline says of each node what it takes and gives, and where it breaks", () => {
  const root = show(broken());
  const rows = [...root.querySelectorAll('[role="treeitem"]')].map((one) => one.textContent);
  expect(rows).toContainEqual(expect.stringMatching(/^·✖lstmLSTM, \w+ f32 \(8, 28, 28, 1\), raises/));
  expect(rows).toContainEqual(expect.stringMatching(/^·denseDense, \w+ f32 \(8, 28, 28, 1\), not reached$/));
});

test("another report takes the place of the first, and what was selected stays", () => {
  const root = show(broken());
  view!.select("conv2d");
  const next = broken();
  next.summary = "2 problems · fails";
  view!.update(next);
  expect(text(root, ".verdict")).toEqual(["✖2 problems · fails"]);
  expect(root.querySelectorAll(".node.selected")).toHaveLength(1);
});

test("another program does not inherit what was selected", () => {
  const root = show(broken());
  view!.select("conv2d");
  view!.update({ ...broken(), title: "another" });
  expect(root.querySelectorAll(".node.selected")).toHaveLength(0);
});

test("a flow without findings says so", () => {
  const root = show(chain(8));
  expect(text(root, ".verdict")).toEqual(["✓No problems found"]);
  expect(root.querySelectorAll(".card")).toHaveLength(0);
});

test("an empty report is no error", () => {
  const root = show({ ...chain(2), flow: { nodes: [], edges: [], specs: [] } });
  expect(text(root, ".verdict")).toEqual(["✓No problems found"]);
});

describe("search", () => {
  const doc = new FlowDoc(broken());
  const names = (words: string): string[] => search(doc, words).map((i) => doc.node(i).id);

  test("finds names, layer types, shapes and dtypes", () => {
    expect(names("lst")).toEqual(["lstm"]);
    expect(names("Conv2D")).toEqual(["conv2d"]);
    expect(names("28x28x1")).toEqual(["slices", "batch", "split", "conv2d", "lstm"]);
    expect(names("f32")).toEqual(names("float32"));
    expect(names("  ")).toEqual([]);
  });

  test("reads a shape from its end, with ? for any axis", () => {
    expect(shapeMatches([null, 128], "?x128")).toBe(true);
    expect(shapeMatches([8, 128], "?x128")).toBe(true);
    expect(shapeMatches([8, 14, 14, 1024], "?x14x14x1024")).toBe(true);
    expect(shapeMatches([8, 128], "?x64")).toBe(false);
    expect(shapeMatches([128], "?x128")).toBe(false);
    expect(shapeMatches([8, 26, 128], "*x128")).toBe(true);
    expect(shapeMatches(null, "128")).toBe(false);
  });
});

test("what is copied is what a diff adds, or a snippet as it is", () => {
  expect(insertable("--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same")).toBe("new");
  expect(insertable("layers.Flatten()")).toBe("layers.Flatten()");
});

test("where there is little room a diff has one line of context, and counts from it", () => {
  const patch = "--- a\n+++ b\n@@ -3,7 +3,7 @@\n a\n b\n c\n-old\n+new\n d\n e\n f";
  expect(closely(patch, 3)).toEqual(["@@ -3", " a", " b", " c", "-old", "+new", " d", " e", " f"]);
  expect(closely(patch, 1)).toEqual(["@@ -5", " c", "-old", "+new", " d"]);
  expect(closely("@@ -1,3 +1,3 @@\n-a\n+b\n c\n d", 1)).toEqual(["@@ -1", "-a", "+b", " c"]);
  expect(closely("x = 1\ny = 2", 1)).toEqual(["x = 1", "y = 2"]);
});
