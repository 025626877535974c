/**
 * Finds columns that CHECK constraints make not null. For example, `(removed_at IS NULL) = (email IS NOT NULL)` makes `email` not null in
 * a statement with the condition `removed_at IS NULL`. Constraints of other forms are ignored.
 */

/** A test of one column in a constraint: the column is null, or the column equals a text. */
interface Test {
  readonly column: string;
  /** `undefined` for a test with `IS NULL` or `IS NOT NULL`. */
  readonly text: string | undefined;
  /** False for `IS NOT NULL` and `<>`. */
  readonly holds: boolean;
}

export interface Constraint {
  /** `equal`: both conditions are true, or both are false. `either`: at least one condition is true. */
  readonly kind: 'equal' | 'either';
  readonly tests: readonly [Test, Test];
}

/** The facts about columns of a table that follow from the conditions of a statement. */
export interface Facts {
  readonly notNull: ReadonlySet<string>;
  readonly isNull: ReadonlySet<string>;
  /** The known text of a column. The key is the name of the column. */
  readonly texts: ReadonlyMap<string, string>;
}

const pair =
  /\(((?:\w+ IS (?:NOT )?NULL|\w+ (?:=|<>) '\w+'::text))\) (=|OR) \(((?:\w+ IS (?:NOT )?NULL|\w+ (?:=|<>) '\w+'::text))\)/g;
const nullTest = /^(\w+) IS (NOT )?NULL$/;
const textTest = /^(\w+) (=|<>) '(\w+)'::text$/;

/** @param definition the definition of a constraint, as Postgres prints it */
export function constraintsIn(definition: string): Constraint[] {
  const pairs = [...definition.matchAll(pair)];
  // Accepts one pair, or several pairs that are joined by AND. A pair inside OR, NOT or CASE need not be true in every row.
  const rest = definition.replaceAll(pair, '').replaceAll(/\bCHECK\b|\bAND\b|[()\s]/g, '');
  if (rest !== '' || (pairs.length > 1 && definition.includes(' OR '))) return [];
  return pairs.flatMap(([, first = '', operator, second = '']): Constraint[] => {
    const [one, other] = [testIn(first), testIn(second)];
    return one && other ? [{ kind: operator === '=' ? 'equal' : 'either', tests: [one, other] }] : [];
  });
}

function testIn(text: string): Test | undefined {
  const ofNull = nullTest.exec(text);
  if (ofNull) return { column: ofNull[1] ?? '', text: undefined, holds: ofNull[2] === undefined };
  const ofText = textTest.exec(text);
  return ofText ? { column: ofText[1] ?? '', text: ofText[3], holds: ofText[2] === '=' } : undefined;
}

/** @returns more columns that are not null in rows with these facts */
export function impliedNotNull(constraints: readonly Constraint[], facts: Facts): string[] {
  return constraints.flatMap(({ kind, tests: [one, other] }) =>
    [
      [one, other],
      [other, one],
    ].flatMap(([known, implied]) => {
      if (!known || !implied || implied.text !== undefined) return [];
      const truth = truthOf(known, facts);
      if (truth === undefined || (kind === 'either' && truth)) return [];
      const impliedTruth = kind === 'equal' ? truth : true;
      return impliedTruth === implied.holds ? [] : [implied.column];
    }),
  );
}

/** @returns whether the test is true in rows with these facts; undefined if it does not follow from them */
function truthOf({ column, text, holds }: Test, { notNull, isNull, texts }: Facts): boolean | undefined {
  const known = texts.get(column);
  if (text !== undefined) return known === undefined ? undefined : (known === text) === holds;
  if (isNull.has(column)) return holds;
  return notNull.has(column) || known !== undefined ? !holds : undefined;
}
