/** Variables in the texts of an e-mail: `{{student_first_name|there}}`. */

/**
 * The variables that there are, and what stands there where neither the recipient nor the author has a value. The name of an
 * account that nobody confirmed is whatever was typed at its sign-up, so such accounts get the fallback.
 */
export const variables = {
  student_first_name: 'there',
  student_name: 'there',
  student_email: '',
  club_name: '',
} as const satisfies Record<string, string>;

export type VariableName = keyof typeof variables;

export interface Variable {
  variable: VariableName;
  fallback: string;
}

export type TemplatePart = string | Variable;

export interface VariableProblem {
  code: 'unknown_variable' | 'unclosed_variable';
  message: string;
}

const isVariable = (name: string): name is VariableName => Object.hasOwn(variables, name);

/**
 * Splits a text at its variables.
 * @returns the parts in their order; a variable with a problem stays in them as the text that it is
 */
export function parseTemplate(text: string): { parts: TemplatePart[]; problems: VariableProblem[] } {
  const parts: TemplatePart[] = [];
  const problems: VariableProblem[] = [];
  let from = 0;
  for (;;) {
    const open = text.indexOf('{{', from);
    if (open === -1) break;
    const close = text.indexOf('}}', open + 2);
    const inside = text.slice(open + 2, close);
    if (close === -1 || inside.includes('{{') || inside.includes('\n')) {
      problems.push({
        code: 'unclosed_variable',
        message: `A variable is opened by {{ and not closed: ${excerpt(text, open)}`,
      });
      parts.push(text.slice(from, open + 2));
      from = open + 2;
      continue;
    }
    const bar = inside.indexOf('|');
    const name = (bar === -1 ? inside : inside.slice(0, bar)).trim();
    if (isVariable(name)) {
      parts.push(text.slice(from, open), {
        variable: name,
        fallback: bar === -1 ? variables[name] : inside.slice(bar + 1).trim(),
      });
    } else {
      problems.push({
        code: 'unknown_variable',
        message: `There is no variable ${excerpt(text, open)}. There are ${Object.keys(variables).join(', ')}.`,
      });
      parts.push(text.slice(from, close + 2));
    }
    from = close + 2;
  }
  parts.push(text.slice(from));
  return { parts: parts.filter((part) => part !== ''), problems };
}

const excerpt = (text: string, at: number) => {
  const characters = Array.from(text.slice(at, at + 80));
  return characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : characters.join('');
};
