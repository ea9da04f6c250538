import { expect, test } from "vitest";

import { mount } from "./index";

test("texts of the model are set as text", () => {
  const el = document.createElement("div");
  document.body.append(el);
  const message = "<img src=x onerror=alert(1)>";
  const off = mount(el, {
    version: 1,
    title: message,
    summary: "1 problem",
    ok: false,
    flow: { nodes: [{ id: "a", name: message, kind: "layer", op: message }], edges: [], specs: [] },
    findings: [{ rule: "r", severity: "error", message, nodes: ["a"] }],
  });
  const root = el.firstElementChild?.shadowRoot;
  expect(root?.textContent).toContain(message);
  expect(root?.querySelector("img")).toBeNull();
  off();
  expect(el.childElementCount).toBe(0);
});
