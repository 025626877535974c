/** Patterns of the contract that `recheck` refuses, but that callers already depend on. Each has the reason why it does no harm. */
export const exceptions: ReadonlyMap<string, string> = new Map([
  [
    String.raw`/^(19[7-9]\d|2\d{3})-.{5}[Tt].{6}[0-5].*([Zz]|\d{2}:?\d{2})$/u`,
    'The pattern is linear. It matches only at the start. When `.*` gives a character back, the next try looks at five characters at most.',
  ],
  [
    String.raw`/^[^\r\n]*\S[^\r\n]*$/u`,
    'The time is quadratic, but only for at most 100 characters, because Ajv checks `maxLength` first and stops at the first fault.',
  ],
]);

/** Places in the code that build a pattern at run time, each with the reason why we accept it. */
export const madeAtRunTime: ReadonlyMap<string, string> = new Map([
  [
    'contract/validators.ts: new RegExp(pattern, flags)',
    'Ajv compiles the patterns of the contract. They are judged in the bundled contract.',
  ],
]);
