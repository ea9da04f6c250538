import { expect, test } from "vitest";

import { mount } from "./index";

test("texts of the model are set as text", () => {
  const el = document.createElement("div");
  const message = "<img src=x onerror=alert(1)>";
  const off = mount(el, {
    version: 1,
    title: "",
    summary: "1 problem",
    ok: false,
    flow: { nodes: [], edges: [], specs: [] },
    findings: [{ rule: "r", severity: "error", message }],
  });
  expect(el.textContent).toContain(message);
  expect(el.querySelector("img")).toBeNull();
  off();
  expect(el.textContent).toBe("");
});
