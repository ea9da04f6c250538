import { LabIcon } from "@jupyterlab/ui-components";

// Two tensors and the edge between them, which is broken.
const drawing = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16">
  <g class="jp-icon3" fill="none" stroke="#616161" stroke-width="1.4" stroke-linejoin="round" stroke-linecap="round">
    <rect x="1.5" y="1.5" width="6" height="6" rx="1"/>
    <rect x="9" y="10" width="5.5" height="4.5" rx="1"/>
    <path d="M4.5 7.5v1.8M4.5 11v1.3h1.6"/>
  </g>
</svg>`;

export const icon = new LabIcon({ name: "tpushape:icon", svgstr: drawing });
