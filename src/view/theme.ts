/** Light or dark: what the host says (JupyterLab, Colab, VS Code), or else what the system prefers. */

export type Theme = "light" | "dark";

export function themeOf(): Theme {
  const { body, documentElement: root } = document;
  const lab = body.dataset.jpThemeLight;
  if (lab) {
    return lab === "true" ? "light" : "dark";
  }
  const colab = root.getAttribute("theme");
  if (colab) {
    return colab === "dark" ? "dark" : "light";
  }
  const code = body.dataset.vscodeThemeKind;
  if (code) {
    return /dark|high-contrast$/.test(code) ? "dark" : "light";
  }
  return typeof matchMedia === "function" && matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Calls back at once and after each change; gives the way to stop. */
export function followTheme(tell: (theme: Theme) => void): () => void {
  const say = (): void => {
    tell(themeOf());
  };
  say();
  const observer = new MutationObserver(say);
  const options = { attributes: true, attributeFilter: ["data-jp-theme-light", "theme", "data-vscode-theme-kind"] };
  observer.observe(document.body, options);
  observer.observe(document.documentElement, options);
  const media = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : null;
  media?.addEventListener("change", say);
  return () => {
    observer.disconnect();
    media?.removeEventListener("change", say);
  };
}
