// Removes what a build writes.
import { rm } from "node:fs/promises";

for (const folder of ["lib", "jupyter_tpushape/labextension", "jupyter_tpushape/static"]) {
  await rm(folder, { recursive: true, force: true });
}
