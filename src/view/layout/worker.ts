/** Orders large levels away from the page's own thread. Without a worker the caller does it itself. */

import * as kernel from "./order";
import type { LevelGraph, LevelOrder } from "./order";

/** Nodes from which on a level is worth a worker. */
export const LARGE = 2500;

/** What is under way: whoever asks for the same level again waits for the same answer. */
const asked = new WeakMap<LevelGraph, Promise<LevelOrder>>();

export function orderInWorker(graph: LevelGraph): Promise<LevelOrder> {
  let answer = asked.get(graph);
  if (!answer) {
    asked.set(graph, (answer = ordered(graph)));
  }
  return answer;
}

async function ordered(graph: LevelGraph): Promise<LevelOrder> {
  if (typeof Worker === "undefined" || typeof URL.createObjectURL !== "function") {
    return kernel.order(graph);
  }
  const { adjacency, breakCycles, rankNodes, columnsOf, sweep, order } = kernel;
  const parts = [adjacency, breakCycles, rankNodes, columnsOf, sweep, order].map(String).join("\n");
  const source = `${parts}\nonmessage=(event)=>postMessage(${order.name}(event.data));`;
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    return await new Promise<LevelOrder>((resolve) => {
      const worker = new Worker(url);
      const done = (result: LevelOrder): void => {
        worker.terminate();
        resolve(result);
      };
      worker.onmessage = (event: MessageEvent<LevelOrder>) => {
        done(event.data);
      };
      // A page may forbid workers; the work is the same here.
      worker.onerror = () => {
        done(kernel.order(graph));
      };
      worker.postMessage(graph);
    });
  } catch {
    return kernel.order(graph);
  } finally {
    URL.revokeObjectURL(url);
  }
}
