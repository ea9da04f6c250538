/** The picture as a file: SVG with its text as text, and PNG. */

import type { FlowDoc } from "./doc";
import { drawBox, drawLine } from "./draw";
import { s } from "./dom";
import { labelsOf } from "./labels";
import type { Scene } from "./layout/scene";
import { DARK, DRAWING, LIGHT } from "./style";
import type { Theme } from "./theme";
import { hatch } from "./viewport";
import * as trans from "./words";

export interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The drawing's style with its colours filled in: a file has no page to inherit from. */
export function filled(theme: Theme): string {
  const set: Record<string, string> = theme === "dark" ? DARK : LIGHT;
  const colour = (name: string): string => (set[name] ?? "#000").replace(/^var\(.*,\s*(.+)\)$/, "$1");
  return DRAWING.replace(/var\(--([\w-]+)\)/g, (_match, name: string) => colour(name)).trim();
}

export function exportSvg(doc: FlowDoc, scene: Scene, theme: Theme, area?: Area): SVGSVGElement {
  const pad = 20;
  const { x, y, width, height } = area ?? { x: -pad, y: -pad, width: scene.width + 2 * pad + 160, height: scene.height + 2 * pad };
  const meets = (left: number, top: number, right: number, bottom: number): boolean =>
    left < x + width && right > x && top < y + height && bottom > y;
  const svg = s("svg", { xmlns: "http://www.w3.org/2000/svg", class: "graph", viewBox: `${x} ${y} ${width} ${height}`, width, height });
  const style = s("style", {});
  style.textContent = filled(theme);
  const set = theme === "dark" ? DARK : LIGHT;
  const ground = set.bg.replace(/^var\(.*,\s*(.+)\)$/, "$1");
  svg.append(
    s("title", {}, `${doc.report.title} · ${doc.report.summary}`),
    style,
    hatch(),
    s("rect", { x, y, width, height, fill: ground }),
  );
  const boxes = scene.boxes.filter((box) => meets(box.x, box.y, box.x + box.w, box.y + box.h));
  const put = (open: boolean): void => {
    for (const box of boxes) {
      if (box.open !== open) {
        continue;
      }
      const element = drawBox(doc, box, true);
      element.setAttribute("transform", `translate(${box.x} ${box.y})`);
      svg.append(element);
    }
  };
  put(true);
  for (const line of scene.lines) {
    if (!meets(line.left, line.top, line.right, line.bottom)) {
      continue;
    }
    const element = drawLine(doc, line);
    element.querySelector(".hit")?.remove();
    svg.append(element);
  }
  put(false);
  for (const label of labelsOf(doc, scene)) {
    if (meets(label.x, label.y, label.x + label.w, label.y + label.h)) {
      svg.append(label.draw());
    }
  }
  if (scene.lane) {
    svg.append(s("text.lane-title", { x: scene.lane.x, y: 14 }, trans.__("PIPELINE")));
  }
  return svg;
}

export function svgText(svg: SVGSVGElement): string {
  return new XMLSerializer().serializeToString(svg);
}

/** Canvases end at some 16,000 pixels; a larger picture is drawn smaller. */
export async function exportPng(svg: SVGSVGElement): Promise<Blob> {
  const width = Number(svg.getAttribute("width"));
  const height = Number(svg.getAttribute("height"));
  const scale = Math.min(2, 12000 / Math.max(width, height));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob) {
        resolve(blob);
      } else {
        reject(new Error("The browser could not export this view."));
      }
    }, "image/png");
  });
}

export function download(name: string, data: Blob | string, type = "text/plain"): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(typeof data === "string" ? new Blob([data], { type }) : data);
  link.download = name;
  link.click();
  setTimeout(() => {
    URL.revokeObjectURL(link.href);
  }, 10_000);
}

/** The export menu: what it says, and what it does. */
export function exportList(
  doc: FlowDoc,
  picture: (whole: boolean) => SVGSVGElement,
  page: (() => string | Promise<string>) | undefined,
  say: (words: string) => void,
): [string, () => void][] {
  const name = (doc.report.title || "flow").replace(/[^\w.-]+/g, "-");
  const svg = (whole: boolean) => () => {
    download(`${name}.svg`, svgText(picture(whole)), "image/svg+xml");
  };
  const png = (whole: boolean) => () => {
    exportPng(picture(whole)).then(
      (blob) => {
        download(`${name}.png`, blob);
      },
      () => {
        say(trans.__("The browser could not export this view as PNG. Use SVG instead."));
      },
    );
  };
  const list: [string, () => void][] = [
    [trans.__("SVG of everything expanded"), svg(true)],
    [trans.__("SVG of the current view"), svg(false)],
    [trans.__("PNG of everything expanded"), png(true)],
    [trans.__("PNG of the current view"), png(false)],
    [
      trans.__("Report as JSON"),
      () => {
        download(`${name}.json`, JSON.stringify(doc.report), "application/json");
      },
    ],
  ];
  if (page) {
    list.push([
      trans.__("Standalone HTML"),
      () => {
        void Promise.resolve(page()).then((text) => {
          download(`${name}.html`, text, "text/html");
        });
      },
    ]);
  }
  return list;
}
