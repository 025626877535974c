/** Habits of writing that make a sentence hard for a reader whose first language is not English, each with advice. */

export interface Habit {
  name: string;
  find(text: string): Iterable<Match>;
  advice: string;
  /** The kind of text in which the habit is searched. */
  in: 'prose' | 'error' | 'code';
}

export interface Match {
  /** From the beginning of the text, in UTF-16 code units. */
  index: number;
  text: string;
}

const matchesOf = (pattern: RegExp) =>
  function* find(text: string): Iterable<Match> {
    for (const { index, 0: matched } of text.matchAll(pattern)) yield { index, text: matched };
  };

/** Participles that say nothing about the thing that they name. */
const participles =
  'told|made|kept|held|asked|left|taken|given|begun|said|wanted|gone|seen|meant|put|got|sent|brought|shown|lost|won|built|done';

/** @returns the sentences of more than 25 words */
function* longSentences(text: string): Iterable<Match> {
  let index = 0;
  for (const sentence of text.split(/(?<=[.?!:;]\s)/)) {
    if (sentence.trim().split(/\s+/).length > 25) yield { index, text: sentence };
    index += sentence.length;
  }
}

export const habits: readonly Habit[] = [
  {
    name: 'clause as a noun',
    find: matchesOf(
      /(?:^|[.:;] )(?:What|Who|Whoever|Whatever|Whom|Whose|How (?:many|much|long|often))\b(?![^.;]*\?)|\b(?:of|by|for|from|with|than|at|as|to) (?:what|who|whom|whoever|whatever|whichever)\b/g,
    ),
    advice: 'name the thing: "the columns that decide" instead of "what decides"',
    in: 'prose',
  },
  {
    name: 'where for if or when',
    find: matchesOf(
      /(?:^|[.,;:—] )[Ww]here\b(?![^.;]*\?)|\bwhere (?:it|there|nobody|somebody|anybody|none|nothing|no|one|another|others|they|that|this|its|some|several|both|either|neither)\b/g,
    ),
    advice: 'write "if" or "when", unless the sentence means a location',
    in: 'prose',
  },
  {
    name: 'fragment',
    find: matchesOf(/(?:^|[.] )(?:Of|By|Than|As|With(?! no| the exception)) [^.]*[.:]?/g),
    advice: 'begin with the subject and give the sentence a verb',
    in: 'prose',
  },
  {
    name: 'pronoun without a noun',
    find: matchesOf(
      /\b(?:one|ones|those|that) (?:that|who|whose|which|whom)\b|\b(?:those|that) of\b|(?:^|[.,;:] )(?:and )?[Tt]he same(?: (?:for|of|as|in|by|with|at|from|one|ones|when|if|where)\b|[.,;:])|\b(?:is|are) all (?:it|that)\b|\bone (?:is|was|has)\b/g,
    ),
    advice: 'repeat the noun: "a deleted row" instead of "one that is gone"',
    in: 'prose',
  },
  {
    name: 'participle as a name',
    find: matchesOf(
      new RegExp(
        String.raw`\b(?:const|let|function|for \(const)\s+(?:${participles})\b|[({,]\s*(?:${participles})\s*(?=[,:)}=])(?!:\s*(?:true|false|\d|'))`,
        'g',
      ),
    ),
    advice: 'name the thing with a noun: startedRuns instead of told',
    in: 'code',
  },
  {
    name: 'word with two meanings',
    find: matchesOf(
      /\bat once\b|\bways? out\b|\bfailing\b|\b(?:a|the|its|whose|of|in|by|their|each|next) turns?\b|\b(?:a|its|many|free|no|has|have|more|of) places?\b/g,
    ),
    advice: 'use the term with one meaning: immediately, egress, permit, position',
    in: 'prose',
  },
  {
    name: 'nobody and somebody for parts of the program',
    find: matchesOf(/\b(?:nobody|somebody|anybody|everybody|whoever)\b/gi),
    advice: 'name the actor: a transaction, a worker, a student',
    in: 'prose',
  },
  {
    name: 'error that states a rule',
    find: matchesOf(/^(?:An?|Each|Every) [a-z]+(?: [a-z]+)? (?:has|have|is|are|was) [^$]*$/g),
    advice: 'say what happened, with the value: Fact ${type} has no id',
    in: 'error',
  },
  {
    name: 'long sentence',
    find: longSentences,
    advice: 'at most 25 words: one idea in each sentence',
    in: 'prose',
  },
];
