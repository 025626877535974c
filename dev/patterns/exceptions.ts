/** Patterns that recheck refuses and that stay, each with its reason. Callers already depend on these patterns of the contract. */
export const exceptions: ReadonlyMap<string, string> = new Map([
  [
    String.raw`/^(19[7-9]\d|2\d{3})-.{5}[Tt].{6}[0-5].*([Zz]|\d{2}:?\d{2})$/u`,
    'Linear, because it matches only at the start, and each step back after `.*` looks at five characters at most.',
  ],
  [
    String.raw`/^[^\r\n]*\S[^\r\n]*$/u`,
    'Quadratic, in at most 100 characters. Ajv checks `maxLength` first and stops at the first fault.',
  ],
]);

/** Patterns that are built at run time and stay, by their file, each with its reason. */
export const madeAtRunTime: ReadonlyMap<string, string> = new Map([
  [
    'contract/validators.ts: new RegExp(pattern, flags)',
    'Ajv compiles the patterns of the contract. They are judged in the bundled contract.',
  ],
]);
