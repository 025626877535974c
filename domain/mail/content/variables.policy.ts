/** Finds variables in the texts of an e-mail, such as `{{student_first_name|there}}`, in which `there` is the fallback. */

/**
 * The variables. A variable with `isStudent` contains the student's name. If the recipient has no name and the author wrote no fallback, a
 * word such as "student" replaces the variable. The name of an unconfirmed account is not used, because anyone could have typed it at the
 * sign-up.
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

/** Further problems of a text are reported without a quotation. */
const shownProblems = 100;

/**
 * Splits a text of a campaign or an automation at its variables.
 * @param student the word for a student without a known name, in the language of the e-mail
 */
export function parseTemplate(text: string, student = ''): Parsed<VariableName> {
  return parseVariables(text, names, (name) => (variables[name].isStudent ? student : ''));
}

interface Parsed<Name extends string> {
  parts: TemplatePart<Name>[];
  problems: VariableProblem[];
}

/**
 * Splits a text at its variables. The time grows linearly with the length of the text.
 * @param known the names of all variables
 * @param fallbackOf a function that returns the fallback of a variable, if the author wrote no fallback after a bar
 * @returns the parts of the text, in their order. A variable with a problem appears as plain text
 */
export function parseVariables<Name extends string>(
  text: string,
  known: readonly Name[],
  fallbackOf: (name: Name) => string,
): Parsed<Name> {
  const parts: TemplatePart<Name>[] = [];
  const problems: VariableProblem[] = [];
  const quote = (open: number) => (problems.length < shownProblems ? excerpt(text, open) : '…');
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
        message: `A variable starts with {{ and has no }}: ${quote(open)}`,
      });
      parts.push(text.slice(from, start));
      from = start;
      continue;
    }
    const inside = text.slice(start, close);
    const bar = inside.indexOf('|');
    const innerName = (bar === -1 ? inside : inside.slice(0, bar)).trim();
    const name = known.find((each) => each === innerName);
    if (name !== undefined) {
      parts.push(text.slice(from, open), {
        variable: name,
        fallback: bar === -1 ? fallbackOf(name) : inside.slice(bar + 1).trim(),
      });
    } else {
      problems.push({
        code: 'unknown_variable',
        message: `There is no variable ${quote(open)}. There are ${known.join(', ')}.`,
      });
      parts.push(text.slice(from, close + 2));
    }
    from = close + 2;
  }
  parts.push(text.slice(from));
  return { parts: parts.filter((part) => part !== ''), problems };
}

const isBefore = (position: number, end: number) => position !== -1 && position < end;

/** @returns a function that searches for a mark from a position on. Positions must not decrease, so that no character is read twice */
function finder(text: string, mark: string): (from: number) => number {
  let position = 0;
  let isKnown = false;
  return (from) => {
    if (!isKnown || (position !== -1 && position < from)) position = text.indexOf(mark, from);
    isKnown = true;
    return position;
  };
}

const excerpt = (text: string, at: number) => {
  const characters = Array.from(text.slice(at, at + 80));
  return characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : characters.join('');
};
