import { expect } from 'chai';
import fc from 'fast-check';
import { SectionBuilder } from '../../../../domain/knowledge/extraction/sections.ts';
import {
  BadSubtitles,
  parseSubtitles,
  readCues,
  toWebVtt,
  type Cue,
} from '../../../../domain/knowledge/extraction/text/subtitles.policy.ts';
import { cutPassages } from '../../../../domain/knowledge/indexing/passages.policy.ts';

const faultOf = (file: string, durationMs: number | null = null): string => {
  try {
    parseSubtitles(file, durationMs);
    return 'none';
  } catch (error) {
    if (error instanceof BadSubtitles) return error.message;
    throw error;
  }
};
const passagesOf = (cues: readonly Cue[]) => {
  const into = new SectionBuilder();
  readCues(cues, into);
  return [...cutPassages(into.end(), 'en')];
};
const vtt = (...cues: string[]) => ['WEBVTT', ...cues].join('\n\n');

describe('subtitles', () => {
  it('accept WebVTT with names, notes and styles between the cues', () => {
    const file = vtt(
      'STYLE\n::cue { color: red }',
      'NOTE for editors',
      'intro\n00:01.000 --> 00:02.500 line:0 align:start position:10%,line-left\n<v Ana>Tie a <b>bowline</b>.',
      '1:00:00.000 --> 1:00:01.000\nFish &amp; chips',
    );
    const cues = parseSubtitles(`\uFEFF${file}`, null);
    expect(cues).to.deep.equal([
      {
        fromMs: 1_000,
        toMs: 2_500,
        settings: 'line:0 align:start position:10%,line-left',
        text: '<v Ana>Tie a <b>bowline</b>.',
      },
      { fromMs: 3_600_000, toMs: 3_601_000, settings: '', text: 'Fish &amp; chips' },
    ]);
    expect(toWebVtt(cues)).to.equal(
      'WEBVTT\n\n00:00:01.000 --> 00:00:02.500 line:0 align:start position:10%,line-left\n<v Ana>Tie a <b>bowline</b>.\n\n' +
        '01:00:00.000 --> 01:00:01.000\nFish &amp; chips\n',
    );
    expect(passagesOf(cues)).to.deep.equal([
      {
        page: null,
        headings: [],
        blocks: ['Ana: Tie a bowline.\n', 'Fish & chips'],
        text: 'Ana: Tie a bowline.\nFish & chips',
        seconds: [
          { from: 1, to: 3 },
          { from: 3_600, to: 3_601 },
        ],
      },
    ]);
  });

  it('can have the format SRT, and lose no letters', () => {
    const file =
      '1\r\n00:00:01,000 --> 00:00:02,500\r\n{\\an8}<font color="red">A & <i>b</i> < c</font>\r\n\r\n2\r\n00:00:03,5 --> 00:00:04,000\r\n\r\n' +
      '3\r\n00:00:05,000 --> 00:00:06,000\r\nlong --> short\r\n';
    expect(parseSubtitles(file, 6_000)).to.deep.equal([
      { fromMs: 1_000, toMs: 2_500, settings: '', text: 'A &amp; <i>b</i> &lt; c' },
      { fromMs: 5_000, toMs: 6_000, settings: '', text: 'long -> short' },
    ]);
  });

  for (const [what, file, fault] of [
    ['an empty file', '', 'no_cues in line 1'],
    ['WebVTT without cues', 'WEBVTT\n\nNOTE nothing', 'no_cues in line 1'],
    ['a text without times', 'Hello\nthere', 'time_expected in line 2'],
    ['a single line', 'Hello', 'time_expected in line 1'],
    ['a cue without times', vtt('00:01.000 --> 00:02.000\na', 'b\nc'), 'time_expected in line 7'],
    ['a minute of 60', vtt('60:00.000 --> 61:00.000\na'), 'time_invalid in line 3'],
    ['a time without milliseconds', vtt('00:01 --> 00:02\na'), 'time_invalid in line 3'],
    ['a missing end', vtt('00:01.000 -->\na'), 'time_invalid in line 3'],
    ['a cue that ends at its beginning', vtt('00:01.000 --> 00:01.000\na'), 'ends_before_it_begins in line 3'],
    ['cues out of order', vtt('00:05.000 --> 00:06.000\na', '00:01.000 --> 00:02.000\nb'), 'out_of_order in line 6'],
    ['cues that overlap', vtt('00:01.000 --> 00:03.000\na', '00:02.999 --> 00:04.000\nb'), 'overlapping in line 6'],
    ['a cue beyond the end', vtt('00:09.000 --> 00:11.001\na'), 'beyond_the_end in line 3'],
    ['a long text', vtt(`00:01.000 --> 00:02.000\n${'a'.repeat(5_001)}`), 'text_too_long in line 4'],
  ] as const)
    it(`are refused with the line number for ${what}`, () => expect(faultOf(file, 10_000)).to.equal(fault));

  it('may end a second after the video, and may begin at the end of the previous cue', () => {
    expect(faultOf(vtt('00:01.000 --> 00:09.000\na', '00:09.000 --> 00:11.000\nb'), 10_000)).to.equal('none');
  });

  it('have at most 20,000 cues', () => {
    const cues = Array.from({ length: 20_001 }, (_, at) => ({
      fromMs: at * 10,
      toMs: at * 10 + 10,
      settings: '',
      text: 'a',
    }));
    expect(faultOf(toWebVtt(cues.slice(1)))).to.equal('none');
    expect(faultOf(toWebVtt(cues))).to.equal('too_many_cues in line 60003');
  });

  it('form sentences that span several cues, but no long silence', () => {
    const cues = parseSubtitles(
      vtt(
        '00:01.000 --> 00:03.000\nTie the rope',
        '00:03.000 --> 00:05.000\naround the post. ',
        '00:05.000 --> 00:06.000\nPull',
        '00:20.000 --> 00:21.000\nWait.',
        '00:22.000 --> 00:23.000\n结绳',
        '00:23.000 --> 00:24.000\n法。',
      ),
      null,
    );
    const [passage] = passagesOf(cues);
    expect(passage?.blocks).to.deep.equal(['Tie the rope around the post.\n', 'Pull\n', 'Wait.\n', '结绳法。']);
    expect(passage?.seconds?.map(({ from, to }) => [from, to])).to.deep.equal([[1, 5], [5, 6], [20, 21], [22, 24]]); // prettier-ignore
  });

  it('do not change when they are written and read again', () => {
    const word = fc.stringMatching(/^[a-zé]{1,8}[.]?$/);
    const spoken = fc.record({
      gap: fc.nat(9_000),
      length: fc.integer({ min: 1, max: 40_000 }),
      text: fc.array(word, { minLength: 1, maxLength: 30 }),
    });
    fc.assert(
      fc.property(fc.array(spoken, { minLength: 1, maxLength: 60 }), (parts) => {
        let ms = 0;
        const cues = parts.map(({ gap, length, text }) => {
          const fromMs = ms + gap;
          ms = fromMs + length;
          return { fromMs, toMs: ms, settings: '', text: text.join(' ') };
        });
        expect(parseSubtitles(toWebVtt(cues), ms)).to.deep.equal(cues);
        const passages = passagesOf(cues);
        expect(
          passages
            .map(({ text }) => text)
            .join(' ')
            .split(/\s+/),
        ).to.deep.equal(cues.flatMap(({ text }) => text.split(' ')));
        let last = 0;
        for (const { blocks, seconds } of passages) {
          expect(seconds).to.have.length(blocks.length);
          for (const { from, to } of seconds ?? []) {
            expect(from).to.be.at.least(Math.floor(last - 1));
            expect(to).to.be.above(from - 1);
            last = from;
          }
        }
      }),
    );
  });
});
