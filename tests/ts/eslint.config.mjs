import js from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
  {
    ignores: ["lib/", "node_modules/", "jupyter_tpushape/", "src/view/wire.ts", ".venv/", "build/", "dist/", "out/", ".cache/"],
  },
  js.configs.recommended,
  {
    files: ["**/*.mjs"],
    languageOptions: {
      globals: { URL: "readonly", console: "readonly", performance: "readonly", process: "readonly", setTimeout: "readonly" },
    },
  },
  {
    files: ["**/*.ts"],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: process.cwd() } },
    rules: {
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/explicit-module-boundary-types": "error",
      "@typescript-eslint/no-extraneous-class": ["error", { allowStaticOnly: true }],
      "@typescript-eslint/no-namespace": ["error", { allowDeclarations: true }],
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // Lumino's signals take the receiver as the second argument of connect().
      "@typescript-eslint/unbound-method": "off",
      curly: "error",
      eqeqeq: "error",
      "max-lines": ["error", { max: 450, skipBlankLines: true, skipComments: true }],
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Texts from the user are set as text, never as markup." },
        { property: "outerHTML", message: "Texts from the user are set as text, never as markup." },
        { property: "insertAdjacentHTML", message: "Texts from the user are set as text, never as markup." },
      ],
      "prefer-const": "error",
    },
  },
  {
    // The layout walks typed arrays by indices that are in range by construction; the compiler cannot see that.
    files: ["src/view/**/*.ts"],
    rules: {
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-non-null-assertion": "off",
    },
  },
);
