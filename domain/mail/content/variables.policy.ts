/** Variables in the texts of an e-mail: `{{student_first_name|there}}`. */

/**
 * The variables that there are, and whether a word for a student stands there if neither the recipient nor the author has a value.
 * The name of an account that nobody confirmed is whatever was typed at its sign-up, so such accounts get the fallback.
 */
export const variables = {
  student_first_name: { isStudent: true },
  student_name: { isStudent: true },
  student_email: { isStudent: false },
  club_name: { isStudent: false },
} as const satisfies Record<string, { isStudent: boolean }>;

export type VariableName = keyof typeof variables;

export interface Variable<Name extends string = VariableName> {
  variable: Name;
  fallback: string;
}

export type TemplatePart<Name extends string = VariableName> = string | Variable<Name>;

export interface VariableProblem {
  code: 'unknown_variable' | 'unclosed_variable';
  message: string;
}

const names = Object.keys(variables) as VariableName[];

/** Problems of one text that show where they are; nobody reads more of them. */
const shownProblems = 100;

/**
 * Splits a text of a campaign or an automation at its variables.
 * @param student what a student without a known name is called, in the language of the e-mail
 */
export function parseTemplate(text: string, student = ''): Parsed<VariableName> {
  return parseVariables(text, names, (name) => (variables[name].isStudent ? student : ''));
}

interface Parsed<Name extends string> {
  parts: TemplatePart<Name>[];
  problems: VariableProblem[];
}

/**
 * Splits a text at its variables, in a time that grows with its length.
 * @param known the variables that there are
 * @param fallbackOf what stands in place of a variable that has no value, unless the author says it behind a bar
 * @returns the parts in their order; a variable with a problem stays in them as the text that it is
 */
export function parseVariables<Name extends string>(
  text: string,
  known: readonly Name[],
  fallbackOf: (name: Name) => string,
): Parsed<Name> {
  const parts: TemplatePart<Name>[] = [];
  const problems: VariableProblem[] = [];
  const place = (open: number) => (problems.length < shownProblems ? excerpt(text, open) : '…');
  const nextOpen = finder(text, '{{');
  const nextClose = finder(text, '}}');
  const nextLine = finder(text, '\n');
  let from = 0;
  for (;;) {
    const open = nextOpen(from);
    if (open === -1) break;
    const start = open + 2;
    const close = nextClose(start);
    if (close === -1 || isBefore(nextOpen(start), close - 1) || isBefore(nextLine(start), close)) {
      problems.push({
        code: 'unclosed_variable',
        message: `A variable is opened by {{ and not closed: ${place(open)}`,
      });
      parts.push(text.slice(from, start));
      from = start;
      continue;
    }
    const inside = text.slice(start, close);
    const bar = inside.indexOf('|');
    const written = (bar === -1 ? inside : inside.slice(0, bar)).trim();
    const name = known.find((each) => each === written);
    if (name !== undefined) {
      parts.push(text.slice(from, open), {
        variable: name,
        fallback: bar === -1 ? fallbackOf(name) : inside.slice(bar + 1).trim(),
      });
    } else {
      problems.push({
        code: 'unknown_variable',
        message: `There is no variable ${place(open)}. There are ${known.join(', ')}.`,
      });
      parts.push(text.slice(from, close + 2));
    }
    from = close + 2;
  }
  parts.push(text.slice(from));
  return { parts: parts.filter((part) => part !== ''), problems };
}

const isBefore = (position: number, end: number) => position !== -1 && position < end;

/** @returns looks for a mark from positions that grow; what was passed over once is not read again */
function finder(text: string, mark: string): (from: number) => number {
  let found = 0;
  let isKnown = false;
  return (from) => {
    if (!isKnown || (found !== -1 && found < from)) found = text.indexOf(mark, from);
    isKnown = true;
    return found;
  };
}

const excerpt = (text: string, at: number) => {
  const characters = Array.from(text.slice(at, at + 80));
  return characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : characters.join('');
};
