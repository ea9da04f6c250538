// Puts the view's script beside the built extension, where JupyterLab's server finds it.
import { copyFile } from "node:fs/promises";

await copyFile("jupyter_tpushape/static/view.js", "jupyter_tpushape/labextension/static/view.js");
