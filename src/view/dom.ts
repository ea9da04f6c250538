/** Small helpers for elements. Every text goes in by `textContent`: nothing from a model is markup. */

const SVG = "http://www.w3.org/2000/svg";

type Attributes = Record<string, string | number | boolean | undefined>;
type Child = Node | string | null | undefined | false;

function fill<E extends Element>(element: E, look: string | undefined, attributes: Attributes, children: readonly Child[]): E {
  if (look) {
    element.setAttribute("class", look);
  }
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) {
      continue;
    }
    element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child || child === "") {
      element.append(child);
    }
  }
  return element;
}

/** An element of a page: `h("div.row way")` has the classes `row` and `way`. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K | `${K}.${string}`,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const [name, look] = tag.split(".") as [K, string?];
  return fill(document.createElement(name), look, attributes, children);
}

/** A sign whose meaning is said in words elsewhere: screen readers pass over it. */
export function unread(tag: `span${string}`, text: string): HTMLElement {
  return h(tag as "span", { "aria-hidden": "true" }, text);
}

/** What is done at an event. */
export function on<K extends keyof HTMLElementEventMap>(
  target: EventTarget,
  name: K,
  act: (event: HTMLElementEventMap[K]) => void,
  options?: AddEventListenerOptions | boolean,
): void {
  target.addEventListener(name, act as EventListener, options);
}

/** Words that go on in another line after a mark, and within no word; what stands between backticks as code. */
export function breakable(words: string): Child[] {
  const parts = words.split(/`([^`]+)`/);
  return parts.flatMap((part, i) => {
    const pieces = part.split(/(?<=[^\w\s"']|_)(?=[^\W\d_])/).flatMap((piece) => [piece, h("wbr")]);
    return i % 2 ? [h("code", {}, ...pieces)] : pieces;
  });
}

/** The same of a drawing. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K | `${K}.${string}`,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const [name, look] = tag.split(".") as [K, string?];
  return fill(document.createElementNS(SVG, name), look, attributes, children);
}

export function button(label: string, attributes: Attributes, act: (event: MouseEvent) => void): HTMLButtonElement {
  const element = h("button", { type: "button", ...attributes }, label);
  on(element, "click", act);
  return element;
}

/** Puts text on the clipboard; where the browser forbids it, through a field that is selected. */
export async function copyText(text: string, near: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = h("textarea.offscreen", { "aria-hidden": "true" });
    field.value = text;
    near.append(field);
    field.select();
    const command = Reflect.get(document, "execCommand") as ((name: string) => boolean) | undefined;
    const done = command?.call(document, "copy") ?? false;
    field.remove();
    return done;
  }
}

/** The style of a shadow root. */
export function addStyle(shadow: ShadowRoot, text: string): void {
  // A constructed sheet needs no exception in a page's Content-Security-Policy.
  if ("adoptedStyleSheets" in shadow && typeof CSSStyleSheet.prototype.replaceSync === "function") {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    shadow.adoptedStyleSheets = [sheet];
    return;
  }
  const style = document.createElement("style");
  style.textContent = text;
  shadow.append(style);
}
