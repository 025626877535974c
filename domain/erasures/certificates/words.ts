/** The words that the PDF of a certificate of erasure prints, in its language. Ids, times and numbers are the same in each language. */
import type { ErasureReceiver } from '../../../entities/erasures/erasure.ts';
import { languageOf } from '../../language/languages.ts';
import { wordingIn, type Wording } from '../../language/wording.ts';

type Kind = 'club' | 'student' | 'administrator';

export interface ErasureWords {
  /** The BCP 47 tag of the language of these words. */
  language: string;
  direction: Wording['direction'];
  say: Wording['say'];
  /** The sentence below the title. @param kind a kind that this release does not know is described as an account */
  summaryOf(kind: string): string;
  /** The name of the subject. */
  subjectOf(kind: string): string;
  /** The state of a receiver. */
  statusOf(status: string): string;
}

const summaries = {
  club: 'erasure.club',
  student: 'erasure.student',
  administrator: 'erasure.administrator',
} as const satisfies Record<Kind, string>;
const subjects = {
  club: 'erasure.subject.club',
  student: 'erasure.subject.student',
  administrator: 'erasure.subject.administrator',
} as const satisfies Record<Kind, string>;
const statuses = {
  pending: 'erasure.receiver.pending',
  succeeded: 'erasure.receiver.succeeded',
  failed: 'erasure.receiver.failed',
  canceled: 'erasure.receiver.canceled',
} as const satisfies Record<ErasureReceiver['status'], string>;

/** @param language a BCP 47 tag @returns the words, in the nearest offered language */
export function erasureWords(language: string): ErasureWords {
  const wording = wordingIn(languageOf(language));
  const { say } = wording;
  return {
    language: wording.language,
    direction: wording.direction,
    say,
    summaryOf: (kind) => say(summaries[kind as Kind]),
    subjectOf: (kind) => say(subjects[kind as Kind]),
    statusOf: (status) => say(statuses[status as ErasureReceiver['status']]),
  };
}
