/**
 * The view's own words in the reader's language: a host may bring its translator, and English is what is written here.
 *
 * Named as JupyterLab's bundles are, so that its tools find the words. Numbers in a plural are `%1`, further values follow.
 */

export interface Translator {
  __(words: string, ...values: unknown[]): string;
  _n(one: string, many: string, n: number, ...values: unknown[]): string;
}

function filled(words: string, values: readonly unknown[]): string {
  return words.replace(/%(\d+)/g, (_, at: string) => String(values[Number(at) - 1]));
}

const english: Translator = {
  __: (words, ...values) => filled(words, values),
  _n: (one, many, n, ...values) => filled(n === 1 ? one : many, [n, ...values]),
};

let current = english;

/** Takes a host's translator for all views of the page. */
export function speak(translator: Translator): void {
  current = translator;
}

// Read as `trans.__` and `trans._n`, and called as plain functions once they are bundled.
export const __: Translator["__"] = (words, ...values) => current.__(words, ...values);
export const _n: Translator["_n"] = (one, many, n, ...values) => current._n(one, many, n, ...values);
