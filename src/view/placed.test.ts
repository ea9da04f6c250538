import { expect, test } from "vitest";

import { FlowDoc } from "./doc";
import { laidText, weightText } from "./placed";
import { edge, node, report } from "./testing/flows";

const mesh = [
  { name: "batch", size: 2 },
  { name: "model", size: 4 },
];

test("axes along the mesh are named with their parts, the others have their sizes", () => {
  expect(laidText([64, 64, 512], ["batch", "", "model"], mesh)).toBe("(batch/2, 64, model/4)");
  expect(laidText([512], ["model"], mesh)).toBe("(model/4,)");
  expect(laidText([null, 8], ["batch+model", ""], mesh)).toBe("(batch+model/8, 8)");
  expect(laidText([64], [], mesh)).toBe("");
  expect(laidText([64], ["batch"], undefined)).toBe("");
});

test("a weight is told with what one device holds, where it is cut", () => {
  expect(weightText({ shape: [256, 512], layout: ["", "model"], shard: [256, 128] }, mesh)).toBe(
    "(256, 512) as (256, model/4): (256, 128)",
  );
  expect(weightText({ shape: [512], layout: [""], shard: [512] }, mesh)).toBe("(512,)");
});

test("an edge says how its tensor lies", () => {
  const target = { name: "v5e-8", replicas: 8, hosts: 1, generation: "v5e", hbm_bytes: 0, strategy: "ModelParallel", mesh };
  const wire = report([node("up"), node("down")], [edge("up", "down", { placement: 0 }), edge("up", "down", { id: "b" })], { target });
  wire.flow.placements = [{ shapes: [[4, 28, 28, 1]], layout: ["batch", "", "", ""] }];
  const doc = new FlowDoc(wire);
  expect(doc.edgeText(doc.edges[0]!)).toBe("f32 (8, 28, 28, 1) as (batch/2, 28, 28, 1)");
  expect(doc.edgeText(doc.edges[1]!)).toBe("f32 (8, 28, 28, 1)");
});
