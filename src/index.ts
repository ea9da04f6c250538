import type { JupyterFrontEndPlugin } from "@jupyterlab/application";

import { commands } from "./lab/commands";
import { hint } from "./lab/hint";
import { locator, panel, settings, tracer } from "./lab/plugins";
import { renderer } from "./lab/renderer";

const plugins: JupyterFrontEndPlugin<unknown>[] = [tracer, locator, panel, commands, settings, renderer, hint];

export default plugins;
