/** The room that the view has: narrow or wide, how tall it is, and the first look that fits it. */

import type { Item } from "./groups";
import type { Viewport } from "./viewport";

const NARROW = 720;
/** The lengths that stand in the style: to set them would have the picture styled once more. */
const USUAL = { above: "0px", tall: "min(420px,58vh)" };

export class Fitting {
  narrow = false;

  constructor(
    private readonly host: HTMLElement,
    private readonly root: HTMLElement,
    private readonly fill: boolean,
  ) {}

  /** Looks at the width; whether the view has become narrow, or wide. */
  look(): boolean {
    const { width } = this.host.getBoundingClientRect();
    const narrow = width > 0 && width < NARROW;
    this.root.classList.toggle("narrow", narrow);
    this.host.style.height = narrow ? "auto" : this.fill ? "100%" : "620px";
    const turned = narrow !== this.narrow;
    this.narrow = narrow;
    return turned;
  }

  /** Where there is little room, the problem and its neighbours; else as much as can be read. */
  begin(viewport: Viewport, focus: Item | undefined): void {
    const tall = this.narrow && focus ? viewport.closeUp(focus) : 0;
    if (!tall) {
      this.inCanvas("tall", USUAL.tall);
      viewport.begin(focus);
      return;
    }
    const above = [...this.root.querySelectorAll<HTMLElement>(".banner")].reduce((sum, one) => sum + one.offsetHeight, 0);
    this.inCanvas("tall", `${Math.ceil(Math.min(420, tall + 41 + above))}px`);
  }

  /** Sets a length where it is used: on the whole view it would have everything styled anew. */
  inCanvas(name: keyof typeof USUAL, length: string): void {
    const { style } = this.root.querySelector<HTMLElement>(".canvas")!;
    if (length !== (style.getPropertyValue(`--${name}`) || USUAL[name])) {
      style.setProperty(`--${name}`, length);
    }
  }
}
