/** Selects students with very different e-mails, so that a person sees the possible faults of a campaign in a few previews (CAMP-46). */
import type { Id } from '../../../platform/core/ids.ts';

export interface Candidate {
  id: Id;
  name: string;
  email: string;
  /** In a mail to an unconfirmed account, variables such as the name have their fallback values. */
  confirmed: boolean;
}

export type Contrast =
  | 'unconfirmed'
  | 'longest_name'
  | 'shortest_name'
  | 'one_word_name'
  | 'right_to_left'
  | 'other_script'
  | 'emoji'
  | 'special_characters'
  | 'longest_email'
  | 'newest';

/** The limit is small, because a person looks at all previews. */
export const maxPreviews = 10;

const length = (text: string) => Array.from(text).length;
const rightToLeft =
  /\p{Script=Arabic}|\p{Script=Hebrew}|\p{Script=Syriac}|\p{Script=Thaana}|\p{Script=Nko}|\p{Script=Adlam}/u;
const otherScript = /(?!\p{Script=Latin})\p{L}/u;

/**
 * The kinds of students that a set of previews should contain, in order. Each kind has a function that scores a student. The student with
 * the highest score becomes the example of the kind. If several students have this score, the first student becomes the example. The score
 * is undefined if the student is not of this kind.
 */
const contrasts: readonly [Contrast, (student: Candidate) => number | undefined][] = [
  ['unconfirmed', ({ confirmed }) => (confirmed ? undefined : 1)],
  ['longest_name', ({ name, confirmed }) => (confirmed ? length(name) : undefined)],
  ['shortest_name', ({ name, confirmed }) => (confirmed ? -length(name) : undefined)],
  ['one_word_name', ({ name, confirmed }) => has(confirmed && !/\s/u.test(name.trim()))],
  ['right_to_left', ({ name, confirmed }) => has(confirmed && rightToLeft.test(name))],
  ['other_script', ({ name, confirmed }) => has(confirmed && otherScript.test(name) && !rightToLeft.test(name))],
  ['emoji', ({ name, confirmed }) => has(confirmed && /\p{Extended_Pictographic}/u.test(name))],
  ['special_characters', ({ name, confirmed }) => has(confirmed && /[&<>"'{}|\\]/.test(name))],
  ['longest_email', ({ email, confirmed }) => (confirmed ? length(email) : undefined)],
];

const has = (holds: boolean) => (holds ? 1 : undefined);

/**
 * @param students the students of the audience, newest first
 * @returns at most ten distinct students: one student for each contrast, then the newest of the remaining students
 */
export function contrasting(students: readonly Candidate[]): { student: Candidate; because: Contrast }[] {
  const chosen = new Map<Id, { student: Candidate; because: Contrast }>();
  for (const [because, shows] of contrasts) {
    let best: { student: Candidate; score: number } | undefined;
    for (const student of students) {
      const score = chosen.has(student.id) ? undefined : shows(student);
      if (score !== undefined && (best === undefined || score > best.score)) best = { student, score };
    }
    if (best) chosen.set(best.student.id, { student: best.student, because });
  }
  for (const student of students) {
    if (chosen.size >= maxPreviews) break;
    if (!chosen.has(student.id)) chosen.set(student.id, { student, because: 'newest' });
  }
  return [...chosen.values()];
}
