/** Tensors laid over a mesh, as one writes it: ``(batch/2, 64, model/4)``. */

import { shapeText } from "./text";
import type { MeshAxis, Shape } from "./wire";
import * as trans from "./words";

/** The axes that lie along the mesh by its names, the others by their sizes; ``""`` where the layout is not known. */
export function laidText(shape: Shape | undefined, layout: readonly string[] | undefined, mesh: readonly MeshAxis[] | undefined): string {
  if (!shape || !layout?.length || !mesh?.length) {
    return "";
  }
  const sizes = new Map(mesh.map((axis) => [axis.name, axis.size]));
  const inner = shape.map((n, i) => {
    const axes = layout[i];
    // An axis may lie along several, which are joined.
    const parts = axes ? axes.split("+").reduce((all, axis) => all * (sizes.get(axis) ?? 1), 1) : 1;
    return axes ? `${axes}/${parts}` : n === null ? "?" : String(n);
  });
  return shape.length === 1 ? `(${inner[0]},)` : `(${inner.join(", ")})`;
}

/** A weight's shape, with how it lies and what one device holds. */
export function weightText(
  weight: { shape: Shape; layout?: readonly string[]; shard?: Shape },
  mesh: readonly MeshAxis[] | undefined,
): string {
  const laid = laidText(weight.shape, weight.layout, mesh);
  const cut = weight.layout?.some(Boolean) && weight.shard;
  return laid && cut ? trans.__("%1 as %2: %3", shapeText(weight.shape), laid, shapeText(weight.shard)) : shapeText(weight.shape);
}
