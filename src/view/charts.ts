/** Plotly's charts in the standalone page. Its script is packed in there, and is unpacked when they are first asked for. */

interface Figure {
  data: unknown;
  layout: unknown;
}

interface Plotly {
  newPlot(element: HTMLElement, data: unknown, layout: unknown, options: Record<string, unknown>): Promise<unknown>;
}

// None that sends anything anywhere.
const BUTTONS = [["toImage", "zoom2d", "pan2d", "resetScale2d"]];

async function unpack(packed: string): Promise<string> {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/**
 * What opens the charts.
 *
 * @param dialog where they stand: a button that closes it, and an element for them
 * @param figures a list of plotly figures, as JSON
 * @param packed plotly's script, compressed with gzip, in base64
 */
export function charts(dialog: HTMLDialogElement, figures: string, packed: string): () => Promise<void> {
  const place = dialog.querySelector("div")!;
  let drawn: Promise<void> | undefined;
  dialog.querySelector("button")!.addEventListener("click", () => {
    dialog.close();
  });
  const draw = async (): Promise<void> => {
    const script = document.createElement("script");
    script.textContent = await unpack(packed);
    document.head.append(script);
    const plotly = Reflect.get(window, "Plotly") as Plotly;
    for (const { data, layout } of JSON.parse(figures) as Figure[]) {
      const element = document.createElement("div");
      place.append(element);
      await plotly.newPlot(element, data, layout, { displaylogo: false, responsive: true, modeBarButtons: BUTTONS });
    }
  };
  return () => {
    dialog.showModal();
    drawn ??= draw();
    return drawn;
  };
}
