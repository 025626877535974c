/** Patterns that recheck finds fault with and that stay, each with its reason. The contract has promised them to callers as they are. */
export const exceptions: ReadonlyMap<string, string> = new Map([
  [
    String.raw`/^(19[7-9]\d|2\d{3})-.{5}[Tt].{6}[0-5].*([Zz]|\d{2}:?\d{2})$/u`,
    'Linear: it begins at the start alone, and after `.*` each step back looks at five characters at most.',
  ],
  [
    String.raw`/^[^\r\n]*\S[^\r\n]*$/u`,
    'Quadratic, in at most 100 characters: Ajv judges `maxLength` first and stops at the first fault.',
  ],
]);

/** Patterns that are put together at run time and stay, by their file, each with its reason. */
export const madeAtRunTime: ReadonlyMap<string, string> = new Map([
  [
    'contract/validators.ts: new RegExp(pattern, flags)',
    'Ajv makes them of the patterns of the contract, which are judged as the contract was bundled.',
  ],
]);
