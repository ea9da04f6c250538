import { afterEach, expect, test } from "vitest";

import { mount } from "./index";
import { broken } from "./testing/flows";
import * as trans from "./words";
import { speak } from "./words";

const filled = (words: string, ...values: unknown[]): string => words.replace(/%(\d+)/g, (_, at: string) => String(values[Number(at) - 1]));

afterEach(() => {
  speak({ __: filled, _n: (one, many, n, ...values) => filled(n === 1 ? one : many, n, ...values) });
});

test("English is what is written, with its values and its plural", () => {
  expect(trans.__("%1 of %2", 1, 3)).toBe("1 of 3");
  expect(trans._n("%2 layer", "%2 layers", 1, "1")).toBe("1 layer");
  expect(trans._n("%2 layer", "%2 layers", 1200, "1,200")).toBe("1,200 layers");
});

test("every word of the view's own goes through the host's translator; the model's and the report's do not", () => {
  const marked = (words: string, ...values: unknown[]): string => `«${filled(words, ...values)}»`;
  const el = document.createElement("div");
  document.body.append(el);
  const report = broken();
  const off = mount(el, report, {
    trans: { __: marked, _n: (one, many, n, ...values) => marked(n === 1 ? one : many, n, ...values) },
    apply: () => undefined,
  });
  const root = el.firstElementChild!.shadowRoot!;
  const own = [...root.querySelectorAll("button,.section,[role=tab],th,dt,.tried,.lane-title,.eyebrow span:not(.sev)")]
    .filter((one) => !one.matches(".link,.entry,.tools button") && /[a-z]{2}/i.test(one.textContent))
    .map((one) => one.textContent);
  expect(own.length).toBeGreaterThan(8);
  expect(own.filter((words) => !words.includes("«"))).toEqual([]);
  for (const name of ["aria-label", "title", "placeholder"]) {
    const named = [...root.querySelectorAll(`[${name}]`)].filter((one) => !one.closest(".graph")).map((one) => one.getAttribute(name)!);
    expect(named.filter((words) => !words.includes("«"))).toEqual([]);
  }
  expect(root.querySelector("h2.title")!.textContent).toBe(report.findings[0]!.message);
  off();
});
