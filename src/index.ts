import type { JupyterFrontEndPlugin } from "@jupyterlab/application";

import { renderer } from "./lab/renderer";

const plugins: JupyterFrontEndPlugin<unknown>[] = [renderer];

export default plugins;
