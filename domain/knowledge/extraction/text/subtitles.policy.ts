/**
 * Reads and writes subtitles: WebVTT or SubRip (SRT) becomes cues, and cues become WebVTT. Packages for these formats skip lines that they
 * do not understand, but this module reports the first fault with its line.
 */
import type { SectionBuilder, Seconds } from '../sections.ts';

export interface Cue {
  fromMs: number;
  toMs: number;
  /**
   * The settings for the position of the cue on the picture, in the form of WebVTT, such as `line:0 align:start`. Usually a cue has no
   * settings.
   */
  settings: string;
  /** The lines in the form of WebVTT: with its tags, and `&amp;` instead of `&`. */
  text: string;
}

const subtitleRules = {
  maxCues: 20_000,
  /** The maximum number of characters in the lines of a cue. */
  maxCueText: 5_000,
  /** Players measure the length of a video differently, so a cue may end this much after it. */
  beyondEndMs: 1_000,
} as const;

export type SubtitleProblem =
  | 'no_cues'
  | 'too_many_cues'
  | 'time_expected'
  | 'time_invalid'
  | 'ends_before_it_begins'
  | 'out_of_order'
  | 'overlapping'
  | 'beyond_the_end'
  | 'text_too_long';

export class BadSubtitles extends Error {
  readonly problem: SubtitleProblem;
  /** From 1. */
  readonly line: number;

  constructor(problem: SubtitleProblem, line: number) {
    super(`${problem} in line ${line}`);
    this.problem = problem;
    this.line = line;
  }
}

/**
 * @param file WebVTT if it begins with the word WEBVTT, otherwise SRT
 * @param durationMs null if the duration is unknown
 * @throws BadSubtitles
 */
export function parseSubtitles(file: string, durationMs: number | null): Cue[] {
  const lines = file
    .replace(/^\uFEFF/, '')
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replaceAll('\0', '')
    .split('\n');
  const isVtt = /^WEBVTT(?:[ \t]|$)/.test(lines[0] ?? '');
  const cues: Cue[] = [];
  let at = isVtt ? endOfBlock(lines, 0) : 0;
  while (at < lines.length) {
    if (lines[at]?.trim() === '') {
      at += 1;
      continue;
    }
    const end = endOfBlock(lines, at);
    if (!isVtt || !/^(?:NOTE|STYLE|REGION)(?:[ \t]|$)/.test(lines[at] ?? '')) {
      const cue = cueOf(lines.slice(at, end), at + 1, isVtt);
      if (cue) {
        checkOrder(cues.at(-1), cue, durationMs);
        cues.push(cue.cue);
      }
      if (cues.length > subtitleRules.maxCues) throw new BadSubtitles('too_many_cues', at + 1);
    }
    at = end;
  }
  if (cues.length === 0) throw new BadSubtitles('no_cues', 1);
  return cues;
}

function endOfBlock(lines: readonly string[], from: number): number {
  let at = from;
  while (at < lines.length && lines[at]?.trim() !== '') at += 1;
  return at;
}

/** @param first the first line of the block, from 1 @returns undefined for a cue without words, which some SRT files contain */
function cueOf(block: readonly string[], first: number, isVtt: boolean): { cue: Cue; line: number } | undefined {
  // The line before the times may be a name or a number.
  const timesIndex = block[0]?.includes('-->') ? 0 : 1;
  const times = block[timesIndex];
  if (!times?.includes('-->')) throw new BadSubtitles('time_expected', first + Math.min(timesIndex, block.length - 1));
  const line = first + timesIndex;
  const [start = '', rest = ''] = times.split('-->', 2);
  const [end = '', ...settings] = rest.trim().split(/[ \t]+/);
  const [fromMs, toMs] = [timeOf(start.trim()), timeOf(end)];
  if (fromMs === undefined || toMs === undefined) throw new BadSubtitles('time_invalid', line);
  if (toMs <= fromMs) throw new BadSubtitles('ends_before_it_begins', line);
  const raw = block
    .slice(timesIndex + 1)
    .join('\n')
    .replaceAll('-->', '->');
  const text = isVtt ? raw : fromSrt(raw);
  if (text.length > subtitleRules.maxCueText) throw new BadSubtitles('text_too_long', line + 1);
  if (plain(text) === '') return undefined;
  const keptSettings = isVtt
    ? settings.filter((setting) => /^[a-z]{1,20}:[\w.,%-]{1,40}$/.test(setting)).join(' ')
    : '';
  return { cue: { fromMs, toMs, settings: keptSettings, text }, line };
}

/** Reads a time such as `1:02:03.004` or `02:03,004`. Hours are optional, and SRT uses a comma. */
function timeOf(text: string): number | undefined {
  const match = /^(?:(\d{1,4}):)?([0-5]?\d):([0-5]?\d)[.,](\d{1,3})$/.exec(text);
  if (!match) return undefined;
  const [, hours = '0', minutes = '', seconds = '', fraction = ''] = match;
  return (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000 + Number(fraction.padEnd(3, '0'));
}

function checkOrder(
  before: Cue | undefined,
  { cue, line }: { cue: Cue; line: number },
  durationMs: number | null,
): void {
  if (before && cue.fromMs < before.fromMs) throw new BadSubtitles('out_of_order', line);
  if (before && cue.fromMs < before.toMs) throw new BadSubtitles('overlapping', line);
  if (durationMs !== null && cue.toMs > durationMs + subtitleRules.beyondEndMs)
    throw new BadSubtitles('beyond_the_end', line);
}

/**
 * Converts the words of an SRT cue to WebVTT. An SRT cue may contain some HTML tags, and positions such as `{\an8}`. Only the tags for
 * bold, italic and underlined letters stay.
 */
function fromSrt(text: string): string {
  return text
    .replace(/\{\\[a-z]+\d*\}/gi, '')
    .replace(/<\/?font(?: [^<>]*)?>/gi, '')
    .replaceAll('&', '&amp;')
    .replace(/<(?!\/?[biu]>)/gi, '&lt;');
}

/** @returns the cues as a WebVTT file */
export function toWebVtt(cues: readonly Cue[]): string {
  const cueTexts = cues.map(
    ({ fromMs, toMs, settings, text }) => `${clock(fromMs)} --> ${clock(toMs)}${settings && ` ${settings}`}\n${text}\n`,
  );
  return ['WEBVTT\n', ...cueTexts].join('\n');
}

function clock(ms: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1_000) % 60)}.${String(ms % 1_000).padStart(3, '0')}`;
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', nbsp: ' ', lrm: '', rlm: '' };

/** The words of a cue as people read them: first the name of the speaker, and ruby readings in brackets. */
function plain(text: string): string {
  return text
    .replace(/<v(?:\.[^ <>]*)? ([^<>]+)>/g, '$1: ')
    .replace(/<rt(?:\.[^<>]*)?>/g, '(')
    .replaceAll('</rt>', ')')
    .replace(/<[^<>]*>/g, '')
    .replace(/&(amp|lt|gt|nbsp|lrm|rlm);/g, (_, name: string) => entities[name] ?? '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** The maximum length of a sentence that is cited, in characters and in milliseconds. */
const longestSaid = { characters: 300, ms: 30_000 } as const;
/** Words after a longer silence begin a new sentence. */
const silenceMs = 5_000;
const sentenceEnd = /[.!?…。！？؟।]["'”’»)\]]?$/u;

/** Turns cues into sentences with their time spans in seconds. @throws Unreadable too_large */
export function readCues(cues: readonly Cue[], into: SectionBuilder): void {
  let words = '';
  let fromMs = 0;
  let toMs = 0;
  const end = () => {
    const seconds: Seconds = { from: Math.floor(fromMs / 1_000), to: Math.ceil(toMs / 1_000) };
    if (words !== '') into.paragraph({ text: words, kind: 'row', seconds });
    words = '';
  };
  for (const cue of cues) {
    const text = plain(cue.text);
    const isTooFar = cue.fromMs - toMs > silenceMs || cue.toMs - fromMs > longestSaid.ms;
    if (isTooFar || words.length + text.length > longestSaid.characters) end();
    if (words === '') fromMs = cue.fromMs;
    words = words === '' ? text : `${words}${hasNoBlanks(words, text) ? '' : ' '}${text}`;
    toMs = cue.toMs;
    if (sentenceEnd.test(words)) end();
  }
  end();
}

const withoutBlanks =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}、。！？]/u;

/** Whether two texts are joined without a space, as in Chinese, Japanese or Thai. */
function hasNoBlanks(before: string, after: string): boolean {
  return withoutBlanks.test(before.slice(-1)) && withoutBlanks.test(after.slice(0, 1));
}
