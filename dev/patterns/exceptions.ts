/** Patterns that recheck refuses and that stay, each with its reason. The contract has promised them to callers unchanged. */
export const exceptions: ReadonlyMap<string, string> = new Map([
  [
    String.raw`/^(19[7-9]\d|2\d{3})-.{5}[Tt].{6}[0-5].*([Zz]|\d{2}:?\d{2})$/u`,
    'Linear: it matches only at the start, and after `.*` each step back looks at five characters at most.',
  ],
  [
    String.raw`/^[^\r\n]*\S[^\r\n]*$/u`,
    'Quadratic, in at most 100 characters: Ajv judges `maxLength` first and stops at the first fault.',
  ],
]);

/** Patterns that are built at run time and stay, by their file, each with its reason. */
export const madeAtRunTime: ReadonlyMap<string, string> = new Map([
  [
    'contract/validators.ts: new RegExp(pattern, flags)',
    'Ajv compiles them from the patterns of the contract, which are judged in the bundled contract.',
  ],
]);
